/** Options of structure elements that pdfkit takes and its types lack (its guide, "Accessibility"). */
declare namespace PDFKit.Mixins {
  interface StructureElementOptions {
    /** Of a table's head: what it is the head of. */
    scope?: 'Row' | 'Column';
    /** Left, top, right, bottom in points from the page's top left corner. */
    bbox?: [number, number, number, number];
  }
}
