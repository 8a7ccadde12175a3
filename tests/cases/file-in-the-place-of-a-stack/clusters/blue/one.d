not a folder
