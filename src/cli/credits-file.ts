/**
 * Reads a file of credits, JSON or YAML. It checks the shapes that the types promise; core/cost/credit.ts checks the
 * content. Every problem is reported with its place.
 */
import { CREDIT_KINDS, readCredits, type CreditSpec } from '../core/cost/credit.js';
import { invalid, type Problem } from '../core/errors.js';
import { isObject, readStructured } from './structured-file.js';

const TEXTS = ['id', 'currency', 'from', 'until'];
const FIELDS = [...TEXTS, 'kind', 'amount', 'provider', 'team'];

/** @throws Failure missing if there is no such file, invalid naming every problem of its content. */
export async function readCreditsFile(file: string, parseYaml?: (text: string) => unknown): Promise<CreditSpec[]> {
  const content = await readStructured(file, parseYaml);
  const list: unknown = isObject(content) && 'credits' in content ? content['credits'] : content;
  if (!Array.isArray(list)) throw invalid(`${file} holds neither a list of credits nor { "credits": [...] }`);
  const problems = list.flatMap((credit: unknown, at) => shapeProblems(credit, `credits/${at}`));
  if (problems.length > 0) throw invalid(`${file} has ${problems.length} problem(s)`, problems);
  const specs = (list as (CreditSpec & { readonly amount: string | number })[]).map(
    (spec): CreditSpec => ({ ...spec, amount: String(spec.amount) }),
  );
  readCredits(specs);
  return specs;
}

/** Where the value is not of the shape of a CreditSpec. An amount may be written as a number: YAML reads 300 as one. */
function shapeProblems(credit: unknown, path: string): Problem[] {
  if (!isObject(credit)) return [{ path, message: `is not an object with ${FIELDS.join(', ')}` }];
  const problems: Problem[] = Object.keys(credit)
    .filter((field) => !FIELDS.includes(field))
    .map((field) => ({ path: `${path}/${field}`, message: `is not one of ${FIELDS.join(', ')}` }));
  const check = (field: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ path: `${path}/${field}`, message });
  };
  for (const field of TEXTS)
    check(field, typeof credit[field] === 'string', 'is missing, or not a text: put it in quotes');
  for (const field of ['provider', 'team'])
    check(
      field,
      credit[field] === undefined || credit[field] === null || typeof credit[field] === 'string',
      'is not a text',
    );
  check('kind', (CREDIT_KINDS as readonly unknown[]).includes(credit['kind']), `is none of ${CREDIT_KINDS.join(', ')}`);
  check(
    'amount',
    typeof credit['amount'] === 'string' || typeof credit['amount'] === 'number',
    'is missing: a decimal such as "300"',
  );
  return problems;
}
