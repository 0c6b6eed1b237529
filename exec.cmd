@rem What `exec` is in the npm scripts on Windows, where cmd.exe has no such word: it runs the rest of the line.
@%*
