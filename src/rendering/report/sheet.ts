/**
 * Pages of a PDF that are filled from top to bottom: lines of mixed writing, wrapped by measure; a new page where one
 * is full.
 *
 * Knows no report. Nothing is ever drawn over something else: whoever draws takes its height first (`take`), and text
 * is broken so that it fits its width. Fonts are embedded, subset, and never the machine's.
 *
 * The document is tagged for those who listen to it (ISO 14289-1, "PDF/UA-1", section 7; ISO 32000-1, sections 14.7 and
 * 14.8): all that is drawn belongs to an element of the structure tree (`within`) or is an artifact, pictures have
 * alternative texts, and language and title are stated.
 */
import PdfKit from 'pdfkit';
import svgToPdf from 'svg-to-pdfkit';
import { chineseFont, LATIN_FONTS, needsChinese } from '../fonts.js';
import { UNPRINTABLE } from './format.js';

export interface Style {
  /** Points. */
  readonly size: number;
  readonly bold?: boolean;
  readonly colour?: string;
}

/** Of the standard structure types (ISO 32000-1, section 14.8.4) those that a report needs. */
export type Element = 'Sect' | 'Div' | 'H1' | 'H2' | 'H3' | 'P' | 'Figure' | 'Table' | 'Caption' | 'TR' | 'TH' | 'TD';

/** A4, portrait. */
const [PAGE_WIDTH, PAGE_HEIGHT, MARGIN, FOOT] = [595.28, 841.89, 40, 24];
const LINE_HEIGHT = 1.35;
/** From a line's top to where its letters stand, whatever fonts write it. */
const ASCENT = 0.93;
/** No cell is longer. */
const MOST_LINES = 12;

/**
 * Pieces that are not broken, as long as they fit: words with what separates them, and single ideographs, both with the
 * Chinese punctuation that ends them, which begins no line.
 */
const PIECES =
  /(?:[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+)[，。、；：）！？]*\s*|\s+/g;

/**
 * pdfkit writes the title into the metadata as it is; there it stands in XML, where a team's name needs escapes. When
 * the metadata end, the title has been written everywhere else.
 */
class TaggedPdf extends PdfKit {
  override endMetadata(): void {
    const { info } = this;
    if (info.Title !== undefined) info.Title = escapeXml(info.Title);
    super.endMetadata();
  }
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replace(UNPRINTABLE, ' ');

export class Sheet {
  readonly width = PAGE_WIDTH - 2 * MARGIN;
  private readonly document: PDFKit.PDFDocument;
  /** The element that is open, and those around it. */
  private readonly open: [PDFKit.PDFStructureElement, ...PDFKit.PDFStructureElement[]];
  private type: Element | 'Document' = 'Document';
  private readonly chunks: Buffer[] = [];
  private readonly fonts = new Set<string>();
  private readonly widths = new Map<string, number>();
  private top = MARGIN;

  constructor({
    title,
    language,
    madeAt,
  }: { readonly title: string; readonly language: string; readonly madeAt: string }) {
    this.document = new TaggedPdf({
      size: [PAGE_WIDTH, PAGE_HEIGHT],
      margin: 0,
      bufferPages: true,
      pdfVersion: '1.7',
      // Its types lag behind.
      subset: 'PDF/UA' as unknown as PDFKit.Mixins.PDFSubsets,
      tagged: true,
      lang: language,
      displayTitle: true,
      info: { Title: title, Author: 'Bursar', Creator: 'Bursar', CreationDate: new Date(madeAt) },
    });
    this.document.on('data', (chunk: Buffer) => this.chunks.push(chunk));
    const root = this.document.struct('Document');
    this.document.addStructure(root);
    this.open = [root];
  }

  /** Room of so many points on this page or, where it has no more, on the next; returns where it begins. */
  take(height: number): number {
    if (!this.has(height)) this.newPage();
    const at = this.top;
    this.top += height;
    return at;
  }

  has(height: number): boolean {
    return height <= this.room();
  }

  /** What is left of the page. */
  room(): number {
    return PAGE_HEIGHT - MARGIN - FOOT - this.top;
  }

  /** Begins a new page. */
  newPage(): void {
    this.document.addPage();
    this.top = MARGIN;
  }

  /** An entry of the outline that leads here. */
  mark(title: string): void {
    this.document.outline.addItem(title);
  }

  lineHeight({ size }: Style): number {
    return size * LINE_HEIGHT;
  }

  /** What `draw` draws is of one element of the structure. */
  within(type: Element, draw: () => void, options: PDFKit.Mixins.StructureElementOptions = {}): void {
    const [element, outer] = [this.document.struct(type, options), this.type];
    this.open[0].add(element);
    this.open.unshift(element);
    this.type = type;
    draw();
    this.open.shift();
    this.type = outer;
    element.end();
  }

  /** A paragraph, or a heading, over the whole width. */
  paragraph(text: string, style: Style, spaceAfter = 0, type: Element = 'P', mostLines = Infinity): void {
    this.within(type, () => {
      for (const line of this.wrap(text, this.width, style, mostLines))
        this.write(line, 0, this.take(this.lineHeight(style)), style);
    });
    this.top += spaceAfter;
  }

  /** One line at a place of the page; `x` from the left margin, `y` from the page's top. */
  write(line: string, x: number, y: number, style: Style): void {
    const content = this.document.markStructureContent(this.type);
    this.draw(line, x, y, style);
    this.document.endMarkedContent();
    this.open[0].add(content);
  }

  /** A line that says nothing of its own: a foot, a head that comes again. */
  repeat(line: string, x: number, y: number, style: Style): void {
    this.decorate(() => this.draw(line, x, y, style));
  }

  private decorate(draw: () => void): void {
    this.document.markContent('Artifact', { type: 'Pagination' });
    draw();
    this.document.endMarkedContent();
  }

  private draw(line: string, x: number, y: number, style: Style): void {
    let at = MARGIN + x;
    for (const run of runsOf(line)) {
      this.use(run, style)
        .fillColor(style.colour ?? '#1b1f24')
        .text(run, at, y + ASCENT * style.size, { lineBreak: false, baseline: 'alphabetic' });
      at += this.measure(run, style);
    }
  }

  /** Points that a line takes. */
  measure(line: string, style: Style): number {
    const key = `${style.size} ${style.bold === true} ${line}`;
    const known =
      this.widths.get(key) ?? runsOf(line).reduce((sum, run) => sum + this.use(run, style).widthOfString(run), 0);
    this.widths.set(key, known);
    return known;
  }

  /** The widest piece that is not broken. */
  widestPiece(text: string, style: Style): number {
    return (text.match(PIECES) ?? []).reduce((most, piece) => Math.max(most, this.measure(piece.trimEnd(), style)), 0);
  }

  /**
   * Lines of at most `width` points; a piece that is longer is broken within. What is beyond `most` lines ends in an
   * ellipsis. Where a line ends between two words, it ends in a space: who reads aloud joins the lines.
   */
  wrap(text: string, width: number, style: Style, most = MOST_LINES): string[] {
    const lines: string[] = [];
    let line = '';
    const fits = (candidate: string): boolean => this.measure(candidate.trimEnd(), style) <= width + 0.01;
    for (const piece of text.match(PIECES) ?? []) {
      if (fits(line + piece)) {
        line += piece;
        continue;
      }
      if (line.trim() !== '') lines.push(endOf(line));
      line = '';
      for (const letter of fits(piece) ? [piece] : piece) {
        if (line !== '' && !fits(line + letter)) {
          lines.push(line);
          line = '';
        }
        line += letter;
      }
    }
    if (line.trim() !== '' || lines.length === 0) lines.push(line.trimEnd());
    return lines.length <= most
      ? lines
      : [...lines.slice(0, most - 1), `${(lines[most - 1] ?? '').trimEnd().slice(0, -1)}…`];
  }

  /** A ground to write on; `x` from the left margin. */
  band(x: number, y: number, width: number, height: number): void {
    this.decorate(() => this.document.rect(MARGIN + x, y, width, height).fill('#f0f3f6'));
  }

  /** A picture of its own proportions. @param words what it shows, for those who do not see it */
  picture(svg: string, width: number, words: string): void {
    const [, w = '1', h = '1'] = /<svg[^>]*\bwidth="([\d.]+)"[^>]*\bheight="([\d.]+)"/.exec(svg) ?? [];
    const height = (width * Number(h)) / Number(w);
    const y = this.take(height + 8);
    const font = this.register(needsChinese(svg) ? 'chinese' : 'latin');
    const draw = (): void => {
      const content = this.document.markStructureContent('Figure');
      svgToPdf(this.document, svg, MARGIN, y, {
        width,
        height,
        preserveAspectRatio: 'xMinYMin meet',
        assumePt: true,
        fontCallback: () => font,
        warningCallback: () => undefined,
      });
      this.document.endMarkedContent();
      this.open[0].add(content);
    };
    this.within('Figure', draw, { alt: words, bbox: [MARGIN, y, MARGIN + width, y + height] });
  }

  /**
   * Writes the foot of every page and ends the document. @param foot the text of a page, by its number and the number
   * of pages
   */
  async end(foot: (page: number, pages: number) => string): Promise<Uint8Array> {
    const { count } = this.document.bufferedPageRange();
    for (let page = 0; page < count; page++) {
      this.document.switchToPage(page);
      const style = { size: 8, colour: '#57606a' };
      const text = foot(page + 1, count);
      this.repeat(text, this.width - this.measure(text, style), PAGE_HEIGHT - MARGIN, style);
    }
    const done = new Promise<void>((resolve, reject) => this.document.once('end', resolve).once('error', reject));
    this.document.end();
    await done;
    return Buffer.concat(this.chunks);
  }

  private use(run: string, { size, bold }: Style): PDFKit.PDFDocument {
    return this.document
      .font(this.register(`${needsChinese(run) ? 'chinese' : 'latin'}${bold === true ? '-bold' : ''}`))
      .fontSize(size);
  }

  private register(name: string): string {
    if (this.fonts.has(name)) return name;
    const weight = name.endsWith('-bold') ? 'bold' : 'regular';
    this.document.registerFont(name, name.startsWith('chinese') ? chineseFont(weight) : LATIN_FONTS[weight]);
    this.fonts.add(name);
    return name;
  }
}

/** A line without the spaces after it, but for one. */
const endOf = (line: string): string => (/\s$/.test(line) ? `${line.trimEnd()} ` : line);

/** Pieces of a line that one font writes. */
function runsOf(line: string): string[] {
  const runs: string[] = [];
  let isChinese: boolean | null = null;
  for (const letter of line) {
    const needs = needsChinese(letter);
    if (needs === isChinese) runs[runs.length - 1] += letter;
    else runs.push(letter);
    isChinese = needs;
  }
  return runs;
}
