/**
 * Azure cost exports (cost and usage details) of amortised cost, as CSV: Enterprise Agreement and Microsoft Customer
 * Agreement, in both sets of column names.
 *
 * Never a bill: it is imported beside the export of actual cost and adds the cost that the actual export lacks, the
 * effective cost of the used and unused parts of commitments. All its other lines are in the actual export and are
 * skipped. See reading/azure.ts.
 */
import type { UsageFormat } from '../core/ports.js';
import { isAzureCost, natureOf, readAzure } from './reading/azure.js';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'azure-amortised',
  description:
    'Azure cost details of amortised cost as CSV: adds the effective cost of commitments to an azure-ea bill',
  recognises: (input) => isAzureCost(input) && natureOf(input) === 'amortised',
  read: (input) => readAzure(input, 'amortised'),
};
