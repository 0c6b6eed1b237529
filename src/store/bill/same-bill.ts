/**
 * Which bills are one, and would count twice: SQL over two rows of `delivery` (or of what may become one).
 *
 * Of one account: those whose periods overlap and that name some of the same sub-accounts, or none; of one source one
 * beside the other where they state other periods, or the same scope. And the payer's bill that names an account holds
 * that account's own from another source. Files of one period that add up to it are no two bills.
 */
const keysOf = (names: string): string => `array(select account_key(name) from unnest(${names}) name)`;

/** A condition; both rows are of one organisation. */
export function isSameBill(a: string, b: string): string {
  const [own, other] = [keysOf(`${a}.sub_accounts`), keysOf(`${b}.sub_accounts`)];
  return `${a}.provider = ${b}.provider and ${a}.period_start < ${b}.period_end and ${a}.period_end > ${b}.period_start
    and case when account_key(coalesce(${a}.account, '')) = account_key(coalesce(${b}.account, ''))
      then (${a}.source <> ${b}.source or ${a}.scope = ${b}.scope or ${a}.period_start <> ${b}.period_start)
        and (${a}.sub_accounts = '{}' or ${b}.sub_accounts = '{}' or ${own} && ${other})
      else ${a}.source <> ${b}.source
        and (account_key(${a}.account) = any(${other}) or account_key(${b}.account) = any(${own})) end`;
}
