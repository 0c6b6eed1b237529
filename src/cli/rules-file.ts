/**
 * Reads a file of allocation rules, JSON or YAML. It checks the shapes that the types promise; core/cost/allocation.ts
 * checks the content. Every problem is reported with its place.
 */
import { problemsOfRules, type AllocationRule } from '../core/cost/allocation.js';
import { invalid, type Problem } from '../core/errors.js';
import { isObject, readStructured } from './structured-file.js';

/** @throws Failure missing if there is no such file, invalid naming every problem of its content. */
export async function readRules(file: string, parseYaml?: (text: string) => unknown): Promise<AllocationRule[]> {
  const content = await readStructured(file, parseYaml);
  const list = isObject(content) && 'rules' in content ? content['rules'] : content;
  if (!Array.isArray(list)) throw invalid(`${file} holds neither a list of rules nor { "rules": [...] }`);
  const problems = list.flatMap((rule: unknown, at) => shapeProblems(rule, `rules/${at}`));
  const rules = list as AllocationRule[];
  if (problems.length === 0) problems.push(...problemsOfRules(rules));
  if (problems.length > 0) throw invalid(`${file} has ${problems.length} problem(s)`, problems);
  return rules;
}

/** Where the value is not of the shape of an AllocationRule. */
function shapeProblems(rule: unknown, path: string): Problem[] {
  if (!isObject(rule)) return [{ path, message: 'is not an object with match and team or split' }];
  const problems: Problem[] = [];
  const { match, split } = rule;
  if (!isObject(match)) problems.push({ path: `${path}/match`, message: 'is not an object; {} matches everything' });
  else {
    for (const field of ['tag', 'label']) {
      if (match[field] !== undefined && !isObject(match[field]))
        problems.push({ path: `${path}/match/${field}`, message: 'is not { key, value }' });
    }
  }
  if (split === undefined) return problems;
  if (!isObject(split))
    problems.push({ path: `${path}/split`, message: 'is not { by: fixed, shares } or { by: use }' });
  else if (split['by'] === 'fixed' && !isObject(split['shares']))
    problems.push({ path: `${path}/split/shares`, message: 'is not an object of teams and their shares' });
  else if (split['by'] === 'use' && split['of'] !== undefined && !Array.isArray(split['of']))
    problems.push({ path: `${path}/split/of`, message: 'is not a list of teams' });
  return problems;
}
