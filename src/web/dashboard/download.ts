/** Files that are made here and saved by the browser. Nothing is sent anywhere. */

/** Lets the browser save a text as CSV under a name; the mark at its start tells spreadsheets that it is UTF-8. */
export function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob(['\ufeff', text], { type: 'text/csv;charset=utf-8' }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}
