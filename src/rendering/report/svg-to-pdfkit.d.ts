/** What of svg-to-pdfkit is used here; the package ships no types (its README, section "Documentation"). */
declare module 'svg-to-pdfkit' {
  export interface SvgOptions {
    readonly width?: number;
    readonly height?: number;
    readonly preserveAspectRatio?: string;
    /** Lengths of the picture are points, not pixels. */
    readonly assumePt?: boolean;
    /** Name of the registered font that draws a text. */
    fontCallback?(family: string, bold: boolean, italic: boolean): string;
    warningCallback?(message: string): void;
  }
  export default function svgToPdf(
    document: PDFKit.PDFDocument,
    svg: string,
    x: number,
    y: number,
    options?: SvgOptions,
  ): void;
}
