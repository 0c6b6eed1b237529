/**
 * Doctor's check of machines whose tag `team` names a team while no rule assigns them to it: a tag alone assigns
 * nothing. Reads only.
 */
import type { AllocationRule } from '../../core/cost/allocation.js';
import { unallocatedByTeamTag, type TaggedTargets } from '../../store/fleet/tagged.js';
import type { LocalBursar } from '../context.js';
import { grouped } from '../table.js';
import { attend, type Finding } from './finding.js';

const MOST_SHOWN = 20;

const ruleOf = ({ key, value }: TaggedTargets): AllocationRule => ({ match: { tag: { key, value } }, team: value });

/** As a word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Without such a machine it reports nothing. */
export async function teamTags({ stores, organisation }: LocalBursar): Promise<Finding[]> {
  const found = await unallocatedByTeamTag(stores.db, organisation);
  if (found.length === 0) return [];
  const { rules } = await stores.organisations.rules(stores.db, organisation);
  const shown = found
    .slice(0, MOST_SHOWN)
    .map(({ key, value, targets }) => `${key}=${value} (${grouped(targets)})`)
    .join(', ');
  const wanted = JSON.stringify(found.map(ruleOf));
  const more = found.length > MOST_SHOWN ? `, and ${grouped(found.length - MOST_SHOWN)} more` : '';
  return [
    attend(
      'teams',
      `running resources have tags of teams but belong to no team, because no rule assigns them: ${shown}${more}`,
      rules.length === 0
        ? `echo ${quoted(wanted)} > rules.json && bursar rules set rules.json`
        : `add this to the current rules (bursar rules list --json), and set them (bursar rules set): ${wanted}`,
    ),
  ];
}
