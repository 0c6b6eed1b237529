/**
 * The SQL condition for targets that were at work when they were seen. Reads nothing itself.
 */

/**
 * Whether a target has machines at work: a group of any size but 0, a machine that runs or starts.
 * @param body the column that holds the target
 */
export const moves = (body: string): string =>
  `coalesce((${body} #>> '{replicas,desired}') <> '0', ${body} ->> 'state' in ('running', 'starting'))`;
