/** What happened in simulations, counted, so that it shows that they simulate something. */

export interface Tally {
  steps: number;
  /** Requests that acted, and those of them that took hold. */
  sendings: number;
  taken: number;
  refusals: number;
  lostAnswers: number;
  throttled: number;
  sentAgain: number;
  crashes: number;
  hiccups: number;
  /** Spot machines that were taken away. */
  interruptions: number;
  lateRecords: number;
  repeatedRecords: number;
  /** Orders of the person, and those of them that were turned down. */
  orders: number;
  ordersDenied: number;
  stopsPulled: number;
  actions: number;
  applied: number;
  /** Of the policies that Bursar ships. */
  appliedOfRealPolicies: number;
  rolledBack: number;
  purchases: number;
  crossings: number;
  /** Cost lines, and hours of savings, that were recounted from the cloud's truth. */
  linesRecounted: number;
  savingHoursRecounted: number;
  /** Lines of bills that were counted anew beside the meters, and those of them whose bill was final. */
  billLinesRecounted: number;
  finalBillLines: number;
  /** Lines of bills that were not final, of what no meter names beside metered machines of its SKU. */
  unmeteredLines: number;
  /**
   * Usage lines of bills that were not final, of machines that were metered: what is not their hours, and their hours
   * where another account pays, and where the bill has a SKU of its own for them.
   */
  openLinesBesideHours: number;
  openHoursOfPayers: number;
  openHoursByOwnSkus: number;
  /** Of the company's own meter: records stated again, imports taken back, and hours that were recounted. */
  restated: number;
  importsUndone: number;
  /** Corrections of it that counted, and imports that were not taken back since a correction would have been left. */
  corrections: number;
  undosRefused: number;
  ownHoursRecounted: number;
  /** Raw records that went to an archive and came back. */
  recordsArchived: number;
  /** Portions of small deliveries that were kept as one, and imports that were taken back out of such. */
  portionsMerged: number;
  undoneOfMerged: number;
  /** Cost lines that a learned rate has priced. */
  linesByLearnedRates: number;
}

export const newTally = (): Tally => ({
  steps: 0,
  sendings: 0,
  taken: 0,
  refusals: 0,
  lostAnswers: 0,
  throttled: 0,
  sentAgain: 0,
  crashes: 0,
  hiccups: 0,
  interruptions: 0,
  lateRecords: 0,
  repeatedRecords: 0,
  orders: 0,
  ordersDenied: 0,
  stopsPulled: 0,
  actions: 0,
  applied: 0,
  appliedOfRealPolicies: 0,
  rolledBack: 0,
  purchases: 0,
  crossings: 0,
  linesRecounted: 0,
  savingHoursRecounted: 0,
  billLinesRecounted: 0,
  finalBillLines: 0,
  unmeteredLines: 0,
  openLinesBesideHours: 0,
  openHoursOfPayers: 0,
  openHoursByOwnSkus: 0,
  restated: 0,
  importsUndone: 0,
  corrections: 0,
  undosRefused: 0,
  ownHoursRecounted: 0,
  recordsArchived: 0,
  portionsMerged: 0,
  undoneOfMerged: 0,
  linesByLearnedRates: 0,
});

export function addTally(to: Tally, more: Tally): void {
  for (const key of Object.keys(more) as (keyof Tally)[]) to[key] += more[key];
}
