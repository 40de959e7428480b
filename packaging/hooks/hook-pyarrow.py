"""The client needs Arrow for CSV and Parquet only; the hook that PyInstaller brings takes all of it.

The libraries that these modules are linked to are found from the modules themselves.
"""

hiddenimports = ["pyarrow.lib", "pyarrow._csv", "pyarrow._compute", "pyarrow._fs", "pyarrow._parquet"]
