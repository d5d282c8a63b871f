# The workflow itself is workflow/Snakefile, where Snakemake's catalogue and snakedeploy look for it.
include: "workflow/Snakefile"


# What is included brings no default target.
rule default:
    default_target: True
    input:
        rules.all.input,
