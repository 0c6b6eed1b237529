/**
 * A report as PDF, for somebody who signs for the money: page one says it all in three sentences, four figures and the
 * picture of what changed, with the days of the month below it where there is room; then what a CFO asks, in that order (chapters.ts); the whole document follows as an
 * appendix.
 *
 * Portrait and tagged (sheet.ts). It draws; what is said is chosen elsewhere.
 */
import type { ChartName, Section } from './cells.js';
import type { Cover, Tile } from './cover.js';
import { Grid } from './grid.js';
import { Sheet, type Style } from './sheet.js';
import type { Written } from './written.js';

const SOFT = '#57606a';
const NOTE: Style = { size: 8, colour: SOFT };
const GAP = 8;
const TILE_PADDING = 7;
/** Of the tiles' figures: the largest in which each stands on one line. */
const FIGURE_SIZES = [17, 15, 13, 11, 9.5, 8, 7, 6] as const;
/** Lines of what others named, so that page one stays one page. */
const [TITLE_LINES, LEAD_LINES, TILE_LINES, SENTENCE_LINES] = [2, 4, 6, 5];

export async function bookletOf(written: Written, madeAt: string): Promise<Uint8Array> {
  const { texts, format, sections, chapters, title } = written;
  const sheet = new Sheet({ title: `${texts.text('title')}: ${title}`, language: format.reader.locale, madeAt });
  const onFront = front(sheet, written);
  sheet.newPage();
  for (const chapter of chapters)
    sheet.within('Sect', () => {
      // A chapter's heading does not stand alone at the foot of a page.
      if (!sheet.has(140)) sheet.newPage();
      sheet.take(14);
      sheet.mark(chapter.title);
      sheet.paragraph(chapter.title, { size: 14, bold: true }, 2, 'H2');
      put(sheet, { ...chapter, charts: chapter.charts.filter((name) => !onFront.includes(name)) }, written);
    });
  sheet.newPage();
  sheet.within('Sect', () => {
    sheet.mark(texts.text('appendix'));
    sheet.paragraph(texts.text('appendix'), { size: 14, bold: true }, 2, 'H2');
    for (const section of sections)
      sheet.within('Sect', () => {
        if (!sheet.has(90)) sheet.newPage();
        sheet.take(12);
        sheet.paragraph(section.title, { size: 11, bold: true }, 2, 'H3');
        put(sheet, { ...section, charts: [] }, written);
      });
  });
  return sheet.end((page, pages) => texts.text('page', { page, pages }));
}

/** Of the days on page one, with their title: lower ones cannot be read. */
const LEAST_DAYS_HEIGHT = 150;
/** The width of a picture's own measures, and what stands below it. */
const [PICTURE_PIXELS, BELOW] = [760, 12];

/** Page one; the pictures that it has and that no chapter repeats. */
function front(sheet: Sheet, { texts, title, leads, cover, chapters, charts, unexplained }: Written): ChartName[] {
  sheet.mark(texts.text('title'));
  sheet.paragraph(texts.text('title'), { size: 20, bold: true }, 0, 'H1');
  sheet.paragraph(title, { size: 12, bold: true }, 3, 'P', TITLE_LINES);
  for (const lead of leads) sheet.paragraph(lead, NOTE, 0, 'P', LEAD_LINES);
  sheet.take(8);
  for (const sentence of cover.sentences) sheet.paragraph(sentence, { size: 10.5 }, 4, 'P', SENTENCE_LINES);
  sheet.take(4);
  tiles(sheet, cover.tiles);
  sheet.take(6);
  for (const one of cover.lacking) sheet.paragraph(one, NOTE, 1, 'P', 2);
  sheet.take(6);
  sheet.paragraph(charts.title('bridge'), { size: 12, bold: true }, 2, 'H2');
  if (unexplained !== null) sheet.paragraph(unexplained, { size: 9 }, 2);
  picture(sheet, 'bridge', charts);
  const hasDays = chapters.some((one) => one.charts.includes('spend'));
  if (!hasDays || !sheet.has(LEAST_DAYS_HEIGHT)) return [];
  sheet.take(6);
  sheet.paragraph(charts.title('spend'), { size: 12, bold: true }, 2, 'H2');
  const height = ((sheet.room() - BELOW) * PICTURE_PIXELS) / sheet.width;
  picture(sheet, 'spend', charts, height);
  return ['spend'];
}

/** The tiles side by side, all as high as the highest. */
function tiles(sheet: Sheet, all: Cover['tiles']): void {
  const width = (sheet.width - (all.length - 1) * GAP) / all.length;
  const room = width - 2 * TILE_PADDING;
  const [small, note]: Style[] = [{ size: 8, bold: true, colour: SOFT }, NOTE];
  const fits = (value: string, size: number): boolean => sheet.measure(value, { size, bold: true }) <= room;
  const figure: Style = {
    size: FIGURE_SIZES.find((size) => all.every(({ value }) => fits(value, size))) ?? 6,
    bold: true,
  };
  const made = all.map(({ label, value, note: words }: Tile) => {
    return [
      { style: small ?? NOTE, lines: sheet.wrap(label, room, small ?? NOTE, 2) },
      { style: figure, lines: sheet.wrap(value, room, figure, 3) },
      { style: note ?? NOTE, lines: sheet.wrap(words, room, note ?? NOTE, TILE_LINES) },
    ];
  });
  const heights = made.map((parts) =>
    parts.reduce((sum, { style, lines }) => sum + lines.length * sheet.lineHeight(style), 2 * TILE_PADDING + 4),
  );
  const y = sheet.take(Math.max(...heights));
  made.forEach((parts, at) => {
    const x = at * (width + GAP);
    sheet.band(x, y, width, Math.max(...heights));
    let top = y + TILE_PADDING;
    sheet.within('Div', () => {
      for (const { style, lines } of parts) {
        sheet.within('P', () => {
          for (const line of lines) {
            sheet.write(line, x + TILE_PADDING, top, style);
            top += sheet.lineHeight(style);
          }
        });
        top += 2;
      }
    });
  });
}

/** @param height at most so high, in the picture's own pixels */
function picture(sheet: Sheet, name: ChartName, charts: Written['charts'], height?: number): void {
  const svg = charts.svg(name, height);
  if (svg !== null) sheet.picture(svg, sheet.width, charts.words(name));
}

function put(sheet: Sheet, { notes, charts: names, tables }: Section, { charts, format, texts }: Written): void {
  for (const note of notes) sheet.paragraph(note, NOTE, 2);
  for (const name of names) {
    // A picture's title stays with it.
    if (!sheet.has(230)) sheet.newPage();
    sheet.paragraph(charts.title(name), { size: 9, bold: true }, 2);
    picture(sheet, name, charts);
  }
  for (const table of tables) new Grid(sheet, table, format, texts).draw();
}
