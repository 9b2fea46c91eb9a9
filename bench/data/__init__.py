"""Data: the sets that methods are measured on.

`sets.py` knows the paper's data sets by name: their shapes, the slips of the paper's loader, and where a file may lie.
`download.py` fetches a set from its public home and refuses contents that differ from those the paper clustered.
`synthetic.py` generates sets; our defaults are chosen on these, so that the paper's sets serve for reporting only.
`labelled.py` has sets whose rows have labels, for models that learn from chosen rows.

In: the name of a data set, a folder, and a variant ("paper" or "clean").
Out: an array of rows. This room knows nothing of methods and measurements.
"""
