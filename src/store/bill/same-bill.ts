/**
 * Finds bills that are the same and would count twice: SQL over two rows of `delivery` (or of candidates).
 *
 * Two bills of one account with overlapping periods are the same if they name some of the same sub-accounts, or if one
 * names none. Within one source they are two bills if they begin at the same time and have different scopes: files of
 * one period that add up. Bills of two accounts are the same if they come from different sources and one (the payer's)
 * names the other's account as a sub-account.
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
