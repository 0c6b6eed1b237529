/** What the formats share: a report, its reader, and the document, words and pictures that follow from the two. */
import { isWithinHour } from '../../core/cost/whole-hours.js';
import type { Reader } from '../../core/report/reader.js';
import type { Report } from '../../core/report/report.js';
import { Charts } from './charts.js';
import type { Section } from './cells.js';
import { chaptersOf } from './chapters.js';
import { coverOf, type Cover } from './cover.js';
import { documentOf } from './document.js';
import { Formatter, printable } from './format.js';
import { Texts } from './texts.js';

/** Teams that are named one by one. */
const MOST_TEAMS = 12;

export interface Written {
  readonly texts: Texts;
  readonly format: Formatter;
  readonly charts: Charts;
  readonly cover: Cover;
  /** For print: the questions that a report answers. */
  readonly chapters: readonly Section[];
  readonly sections: readonly Section[];
  /** Why the change is not, or not wholly, explained; null: it is. */
  readonly unexplained: string | null;
  /** Team and month. */
  readonly title: string;
  /** Sentences under the title. */
  readonly leads: readonly string[];
}

function sameDaysOf({ comparedDays }: Report, format: Formatter): string | null {
  if (comparedDays === undefined || comparedDays === null) return null;
  return format.days(comparedDays.first, comparedDays.last);
}

export function write(report: Report, reader: Reader): Written {
  const format = new Formatter(reader, report.zone, new Texts(reader.language));
  const texts = new Texts(reader.language, sameDaysOf(report, format));
  const { teams, isOver, asOf, zone, madeAt, from, to } = report;
  const named = teams.slice(0, MOST_TEAMS).map(printable).join(', ');
  return {
    texts,
    format,
    charts: new Charts(report, texts, format),
    cover: coverOf(report, texts, format),
    chapters: chaptersOf(report, texts),
    sections: documentOf(report, texts),
    unexplained:
      report.bridge.known === null
        ? texts.code('reason', report.bridge.reason)
        : isOver
          ? null
          : texts.text('note.change-open'),
    title: texts.text('for', { team: printable(report.teamName), month: format.month(report.month) }),
    leads: [
      texts.text('zone', { zone, at: format.instant(madeAt) }),
      ...(isWithinHour(zone, [Date.parse(from), Date.parse(to)]) ? [texts.text('whole-hours')] : []),
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
