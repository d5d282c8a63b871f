"""python -m respeed"""

import sys

from respeed.cli.main import main

sys.exit(main())
