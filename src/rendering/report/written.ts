/** What the formats share: a report, its reader, and the document, words and pictures that follow from the two. */
import type { Reader } from '../../core/report/reader.js';
import type { Report } from '../../core/report/report.js';
import { Charts } from './charts.js';
import { documentOf, type Section } from './document.js';
import { Formatter, printable } from './format.js';
import { Texts } from './texts.js';

/** Teams that are named one by one. */
const MOST_TEAMS = 12;

export interface Written {
  readonly texts: Texts;
  readonly format: Formatter;
  readonly charts: Charts;
  readonly sections: readonly Section[];
  /** Team and month. */
  readonly title: string;
  /** Sentences under the title. */
  readonly leads: readonly string[];
}

export function write(report: Report, reader: Reader): Written {
  const texts = new Texts(reader.language);
  const format = new Formatter(reader, report.zone, texts);
  const { teams, isOver, asOf, zone, madeAt } = report;
  const named = teams.slice(0, MOST_TEAMS).map(printable).join(', ');
  return {
    texts,
    format,
    charts: new Charts(report, texts, format),
    sections: documentOf(report, texts),
    title: texts.text('for', { team: printable(report.teamName), month: format.month(report.month) }),
    leads: [
      texts.text('zone', { zone, at: format.instant(madeAt) }),
      ...(teams.length > 1
        ? [
            texts.text('covers', {
              teams:
                teams.length > MOST_TEAMS
                  ? `${named}, ${texts.text('others', { count: teams.length - MOST_TEAMS })}`
                  : named,
            }),
          ]
        : []),
      ...(isOver ? [] : [texts.text('open', { at: format.instant(asOf) })]),
    ],
  };
}
