"""What people read of the tables: in the paper's shape as Markdown, LaTeX and HTML, pages for a browser, a front page."""
