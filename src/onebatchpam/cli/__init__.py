"""The command line: `onebatchpam cluster FILE -k K -o DIR` and the other commands.

    main     runs a command, and turns every error into one line and an exit code
    parser   what may be typed, and the texts of --help
    config   options from a file
    messages what is said on stderr: notes, warnings, errors
    formats  readers of all kinds of files
    columns  what each column of a table is taken for, and the metric that suits them
    inputs   a file as the data of a fit
    methods  options as estimators
    outputs  files that appear only when they are complete
    models   fitted models in files, from which no code is run

Each command has a file of its own, whose `run` does the work: cluster, select, predict, choose_k, estimate, report,
demo and completion. These files are imported only when their command is run: `--help` answers without scikit-learn.

In: the arguments of the command line. Out: data on stdout or in files, everything else on stderr, and an exit code.
"""

from onebatchpam.cli.main import main
