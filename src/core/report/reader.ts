/**
 * The reader of a report: language, format of numbers and dates, and the available formats.
 *
 * It chooses; it never formats. An unknown language becomes English.
 */

export const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

/** `png` is the report's main picture alone, for messages. */
export const REPORT_FORMATS = ['html', 'pdf', 'csv', 'xlsx', 'json', 'png'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

export interface Reader {
  readonly language: Language;
  /** BCP 47: how numbers and dates are written. */
  readonly locale: string;
}

const DEFAULTS: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-CN' };

export const readerOf = (language: Language): Reader => ({ language, locale: DEFAULTS[language] });

/** RFC 9110, section 12.5.4: a tag or `*`, and a weight of at most three digits. */
const RANGE = /^\s*([a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*|\*)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/;

/** The reader of an Accept-Language header: the best liked language that there is, with the region's own form. */
export function readerFor(acceptLanguage: string | null | undefined): Reader {
  const ranges = (acceptLanguage ?? '')
    .split(',')
    .flatMap((part, at) => {
      const match = RANGE.exec(part);
      return match === null ? [] : [{ tag: match[1] ?? '', weight: Number(match[2] ?? 1), at }];
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || a.at - b.at);
  for (const { tag } of ranges) {
    const language = LANGUAGES.find((one) => one === tag.toLowerCase().split('-')[0]);
    if (language !== undefined)
      return tag.includes('-') && isLocale(tag) ? { language, locale: tag } : readerOf(language);
  }
  return readerOf('en');
}

function isLocale(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
}

const MEDIA: Readonly<Record<string, ReportFormat>> = {
  'text/html': 'html',
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/json': 'json',
  'image/png': 'png',
};

/** The first format that an Accept header names, by weight; JSON where it names none. */
export function formatFor(accept: string | null | undefined): ReportFormat {
  const wanted = (accept ?? '')
    .split(',')
    .map((part, at) => {
      const [media = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const weight = Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1);
      return { media, weight: Number.isFinite(weight) ? weight : 0, at };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || a.at - b.at);
  for (const { media } of wanted) if (Object.hasOwn(MEDIA, media)) return MEDIA[media] ?? 'json';
  return 'json';
}
