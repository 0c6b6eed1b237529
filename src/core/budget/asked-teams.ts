/** What to know of the teams that a question about costs names. Pure. */
import { teamsUnder } from './budget.js';

export interface KnownTeam {
  readonly id: string;
  readonly parent: string | null;
}

const MOST_NAMED = 5;

/**
 * A team that nobody set and nothing was ever allocated to is a mistake in the name: an empty sum would read as no
 * spend. A team's costs are its own, unlike its budget's: the teams below it are named where they were not asked for.
 *
 * @param teams the ones that were set and that the caller may see
 * @param isSpending whether costs were ever allocated to a team that nobody set
 */
export async function aboutTeams(
  asked: readonly string[],
  teams: readonly KnownTeam[],
  isSpending: (team: string) => Promise<boolean>,
): Promise<string[]> {
  const parents = new Map(teams.map(({ id, parent }) => [id, parent]));
  const said: string[] = [];
  for (const team of new Set(asked)) {
    if (!parents.has(team) && !(await isSpending(team))) {
      const similar = teams.find(({ id }) => id.toLowerCase() === team.toLowerCase());
      said.push(
        `there is no team ${team}, and no cost was ever allocated to it: its sum is not zero, it is not known${
          similar === undefined ? '' : ` (did you mean ${similar.id}?)`
        }`,
      );
    }
    const below = [...teamsUnder(team, parents)].filter((one) => one !== team && !asked.includes(one)).sort();
    if (below.length === 0) continue;
    const named = below.slice(0, MOST_NAMED).join(', ');
    const others = below.length > MOST_NAMED ? ` and ${below.length - MOST_NAMED} more` : '';
    said.push(`the sums have only what ${team} itself has: the teams below it (${named}${others}) are not in them`);
  }
  return said;
}
