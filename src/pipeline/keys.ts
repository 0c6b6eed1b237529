/**
 * The keys of the line's work; their form is defined only here.
 */
import type { TeamDay } from '../store/usage/raw.js';
import type { WorkItem } from '../store/work.js';

/** `research/2026-10-05`; a team's name may hold slashes, a day never does. */
function teamDayKey({ team, day }: TeamDay): string {
  return `${team}/${day}`;
}

/** The last part of a key: the day of a team/day, the delivery of a source/delivery. */
export function lastPart(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

export function teamDayItems(stage: string, days: Iterable<TeamDay>): WorkItem[] {
  return [...days].map((day) => ({ stage, partition: day.team, key: teamDayKey(day) }));
}
