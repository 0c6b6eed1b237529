/**
 * Reads a file of peak rules, JSON or YAML. It checks the shapes that the types promise; core/price/peak.ts checks the
 * content. Every problem is reported with its place.
 */
import { invalid, type Problem } from '../core/errors.js';
import { compilePeak, type PeakRule } from '../core/price/peak.js';
import { isObject, readStructured } from './structured-file.js';

const FIELDS = ['from', 'to', 'days', 'zone', 'fromDate', 'untilDate', 'factor'];

/** @throws Failure missing if there is no such file, invalid naming every problem of its content. */
export async function readPeak(file: string, parseYaml?: (text: string) => unknown): Promise<PeakRule[]> {
  const content = await readStructured(file, parseYaml);
  const list: unknown = isObject(content) && 'rules' in content ? content['rules'] : content;
  if (!Array.isArray(list)) throw invalid(`${file} holds neither a list of rules nor { "rules": [...] }`);
  const problems = list.flatMap((rule: unknown, at) => shapeProblems(rule, `rules/${at}`));
  if (problems.length > 0) throw invalid(`${file} has ${problems.length} problem(s)`, problems);
  const rules = (list as (PeakRule & { readonly factor: string | number })[]).map(
    (rule): PeakRule => ({ ...rule, factor: String(rule.factor) }),
  );
  compilePeak(rules);
  return rules;
}

/** Where the value is not of the shape of a PeakRule. A factor may be written as a number: YAML reads 1.15 as one. */
function shapeProblems(rule: unknown, path: string): Problem[] {
  if (!isObject(rule)) return [{ path, message: 'is not an object with zone and factor' }];
  const problems: Problem[] = Object.keys(rule)
    .filter((field) => !FIELDS.includes(field))
    .map((field) => ({ path: `${path}/${field}`, message: `is not one of ${FIELDS.join(', ')}` }));
  const check = (field: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ path: `${path}/${field}`, message });
  };
  for (const field of ['from', 'to', 'fromDate', 'untilDate'])
    check(field, rule[field] === undefined || typeof rule[field] === 'string', 'is not a text: put it in quotes');
  check('zone', typeof rule['zone'] === 'string', 'is missing: the IANA time zone of the rule');
  check(
    'factor',
    typeof rule['factor'] === 'string' || typeof rule['factor'] === 'number',
    'is missing: a decimal such as "1.15"',
  );
  const days = rule['days'];
  check(
    'days',
    days === undefined || (Array.isArray(days) && days.every((day) => typeof day === 'string')),
    'is not a list such as [mon, tue]',
  );
  return problems;
}
