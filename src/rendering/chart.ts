/**
 * Charts on the server: an ECharts option becomes SVG text, SVG becomes PNG. No browser, no canvas, no font of the
 * machine.
 *
 * It knows no report. The invariants: the same option gives the same bytes, and a picture says in words what it shows
 * (`title`, `desc`).
 */
import { createHash } from 'node:crypto';
import { renderAsync } from '@resvg/resvg-js';
import type { EChartsOption } from 'echarts';
import { BarChart, CustomChart, HeatmapChart, LineChart, PieChart, ScatterChart } from 'echarts/charts';
import {
  DatasetComponent,
  GraphicComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  VisualMapComponent,
  AriaComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { FONT_FAMILY, fontFiles } from './fonts.js';

echarts.use([
  BarChart,
  CustomChart,
  HeatmapChart,
  LineChart,
  PieChart,
  ScatterChart,
  AriaComponent,
  DatasetComponent,
  GraphicComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  VisualMapComponent,
  SVGRenderer,
]);
echarts.setPlatformAPI({
  measureText: (text, font) => ({ width: textWidth(text, Number(/([\d.]+)px/.exec(font ?? '')?.[1] ?? 12)) }),
});

/**
 * Colours that people with any of the common colour deficiencies tell apart: M. Okabe and K. Ito, "Color Universal
 * Design: how to make figures and presentations that are friendly to colorblind people" (2002, revised 2008), section
 * 10. Vermillion is kept for Bursar, black for the optimum.
 */
export const OKABE_ITO = {
  black: '#000000',
  orange: '#E69F00',
  skyBlue: '#56B4E9',
  bluishGreen: '#009E73',
  yellow: '#F0E442',
  blue: '#0072B2',
  vermillion: '#D55E00',
  reddishPurple: '#CC79A7',
} as const;

export interface ChartSize {
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

export interface ChartWords {
  /** What the picture is, in a few words. */
  readonly title?: string;
  /** What it shows, for those who do not see it. */
  readonly description?: string;
}

/** SVG text of a chart, on white. It is drawn at once: an option's animation is left out. */
export function renderSvg(
  option: EChartsOption,
  { width, height, title, description }: ChartSize & ChartWords,
): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({
      backgroundColor: '#ffffff',
      textStyle: { fontFamily: FONT_FAMILY },
      ...option,
      animation: false,
    });
    return withWords(withOwnNames(chart.renderToSVGString()), title, description);
  } finally {
    chart.dispose();
  }
}

/**
 * PNG bytes of an SVG, on white where it is transparent. Drawn on a thread of its own: a picture takes tens of
 * milliseconds, in which a server has others to answer.
 * @param scale pixels of the PNG per pixel of the SVG; 2 where absent, for dense screens
 */
export async function renderPng(svg: string, scale = 2): Promise<Buffer> {
  const image = await renderAsync(svg, {
    background: '#ffffff',
    fitTo: { mode: 'zoom', value: scale },
    font: {
      loadSystemFonts: false,
      fontFiles: fontFiles(svg),
      defaultFontFamily: 'DejaVu Sans',
      sansSerifFamily: 'DejaVu Sans',
    },
  });
  return image.asPng();
}

/**
 * ECharts counts its charts, and all their parts, in ids and classes. Numbers by appearance under a name by content are
 * the same in every run, and unlike those of another chart on one page. Classes and styles are for the pointer alone,
 * of which a picture knows nothing.
 */
function withOwnNames(svg: string): string {
  const numbers = new Map<string, number>();
  const plain = svg
    .replace(/<style[^>]*>.*?<\/style>\s*/gs, '')
    .replace(/ (?:class|ecmeta_\w+|pointer-events)="[^"]*"/g, '')
    .replace(
      /(?<=id="|url\(#|href="#)zr\d+-\w+/g,
      (name) => `zr-${numbers.get(name) ?? (numbers.set(name, numbers.size), numbers.size - 1)}`,
    );
  const own = createHash('sha256').update(plain).digest('hex').slice(0, 8);
  return plain.replace(/(?<=id="|url\(#|href="#)zr-/g, `zr${own}-`);
}

const escape = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    // XML 1.0, section 2.2: control characters cannot be written at all.
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '');

/** "SVG 2", section 5.8: a title and a desc are the accessible name and description. */
function withWords(svg: string, title = '', description = ''): string {
  const name = title === '' ? '' : `<title>${escape(title)}</title>`;
  const words = description === '' ? '' : `<desc>${escape(description)}</desc>`;
  return svg.replace(
    /^<svg ([^>]*)>\s*/,
    (_, attributes: string) =>
      `<svg role="img"${title === '' ? '' : ` aria-label="${escape(title)}"`} ${attributes}>\n${name}${words}`,
  );
}

/** Widths of DejaVu Sans in parts of its size, rounded up to the widest of each kind. */
const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/[ilj|.,:;'!I ]/, 0.36],
  [/[mwMW%@—]/, 0.98],
  [/[A-Z]/, 0.72],
  [/[0-9a-z/_-]/, 0.62],
  [/[\u1100-\uffff]/, 1],
];

/** Pixels that a line of text takes, rather too many than too few. */
export function textWidth(text: string, fontSize: number): number {
  let width = 0;
  for (const letter of text) width += WIDTHS.find(([kind]) => kind.test(letter))?.[1] ?? 0.7;
  return width * fontSize;
}

/** Lines of at most `width` pixels, broken at spaces; a word that is longer is broken within. */
export function wrapped(text: string, width: number, fontSize: number): string[] {
  const lines: string[] = [];
  let line = '';
  const fits = (candidate: string): boolean => textWidth(candidate, fontSize) <= width;
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (fits(longer)) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = '';
    for (const letter of word) {
      if (!fits(line + letter)) {
        lines.push(line);
        line = '';
      }
      line += letter;
    }
  }
  return line === '' ? lines : [...lines, line];
}

/** The text, or its beginning and an ellipsis within `width` pixels. */
export function shortened(text: string, width: number, fontSize: number): string {
  if (textWidth(text, fontSize) <= width) return text;
  let kept = '';
  for (const letter of text) {
    if (textWidth(`${kept}${letter}…`, fontSize) > width) break;
    kept += letter;
  }
  return `${kept}…`;
}
