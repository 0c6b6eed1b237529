/**
 * The data of bills about commitments: sums per day, stored with their delivery and deleted with it. Computes nothing;
 * see core/bill/commitments.ts.
 */
import { commitmentReport, type CommitmentReport, type CommitmentUse } from '../../core/bill/commitments.js';
import { contractReport } from '../../core/bill/contracts.js';
import { formatDecimal, parseDecimal, ZERO } from '../../core/decimal.js';
import { contractTerms, contractUses } from './contracts.js';
import { isBillOf } from '../usage/scopes.js';
import { copyText, type Queryable, type Transaction } from '../database.js';

const COLUMNS = [
  'organisation',
  'delivery',
  'no',
  'day',
  'provider',
  'account',
  'service',
  'currency',
  'commitment',
  'category',
  'type',
  'name',
  'status',
  'purchase',
  'lines',
  'billed',
  'effective',
  'without_effective',
  'list',
  'without_list',
];

type Row = Pick<
  CommitmentUse,
  'day' | 'provider' | 'account' | 'service' | 'currency' | 'commitment' | 'category' | 'type' | 'name' | 'status'
> & {
  readonly purchase: boolean;
  readonly lines: string;
  readonly billed: string;
  readonly effective: string;
  readonly without_effective: string;
  readonly list: string;
  readonly without_list: string;
};

export async function writeCommitmentUses(
  tx: Transaction,
  organisation: string,
  delivery: string,
  uses: readonly CommitmentUse[],
): Promise<void> {
  if (uses.length > 0) await tx.copy('commitment_use', COLUMNS, rowsOf(organisation, delivery, uses));
}

function* rowsOf(organisation: string, delivery: string, uses: readonly CommitmentUse[]): Generator<string> {
  for (const [no, use] of uses.entries()) {
    const texts = [use.provider, use.account, use.service, use.currency, use.commitment, use.category, use.type];
    const cells = [
      copyText(organisation),
      delivery,
      no,
      use.day,
      ...[...texts, use.name, use.status].map(copyText),
      use.purchase,
      use.lines,
      formatDecimal(use.billed),
      formatDecimal(use.effective),
      use.withoutEffective,
      formatDecimal(use.list),
      use.withoutList,
    ];
    yield `${cells.join('\t')}\n`;
  }
}

/**
 * The bills' data about commitments and contracts. @param from,to as of `commitmentUses`; contracts have their own
 * periods
 */
export async function commitmentsOf(
  db: Queryable,
  organisation: string,
  from: string | null,
  to: string | null,
): Promise<CommitmentReport> {
  const contracts = contractReport(await contractTerms(db, organisation), await contractUses(db, organisation));
  return commitmentReport(await commitmentUses(db, organisation, from, to), contracts);
}

/**
 * The same use as the supplement beside a bill states it: its effective cost is there, though not on the bill's line.
 */
const STATED_BY_SUPPLEMENT = `select 1 from delivery s join commitment_use w on w.organisation = s.organisation and w.delivery = s.id
  where s.organisation = v.organisation and ${isBillOf('v', 's')} and w.day = c.day and w.commitment = c.commitment
    and w.status = c.status and w.service is not distinct from c.service and w.currency = c.currency
    and w.without_effective = 0 and w.lines >= c.without_effective`;

/**
 * The uses from charges that start on a day in [from, to), summed over the days. @param from,to `2026-10-01`; null: no
 * bound
 */
async function commitmentUses(
  db: Queryable,
  organisation: string,
  from: string | null,
  to: string | null,
): Promise<CommitmentUse[]> {
  const rows = await db.query<Row>(
    `select to_char(max(day), 'YYYY-MM-DD') as day, provider, account, service, currency, commitment, category, type,
       (array_agg(name order by day desc))[1] as name, status, purchase, sum(lines)::text as lines, sum(billed)::text as billed,
       sum(effective)::text as effective, sum(case when stated then 0 else without_effective end)::text as without_effective,
       sum(list)::text as list, sum(without_list)::text as without_list
     from (select c.*, c.without_effective > 0 and exists (${STATED_BY_SUPPLEMENT}) as stated
       from commitment_use c join delivery v on v.organisation = c.organisation and v.id = c.delivery
       where c.organisation = $1 and ($2::date is null or c.day >= $2::date) and ($3::date is null or c.day < $3::date)
         and (v.supplement is null
           or exists (select 1 from delivery b where b.organisation = v.organisation and ${isBillOf('b', 'v')}))) c
     group by provider, account, service, currency, commitment, category, type, status, purchase
     order by provider, account, service, currency, commitment, status, purchase`,
    [organisation, from, to],
  );
  return rows.map(({ lines, billed, effective, without_effective, list, without_list, ...row }) => ({
    ...row,
    lines: Number(lines),
    billed: parseDecimal(billed) ?? ZERO,
    effective: parseDecimal(effective) ?? ZERO,
    withoutEffective: Number(without_effective),
    list: parseDecimal(list) ?? ZERO,
    withoutList: Number(without_list),
  }));
}
