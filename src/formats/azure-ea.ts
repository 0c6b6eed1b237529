/**
 * Azure cost exports (cost and usage details) of actual cost, as CSV: Enterprise Agreement and Microsoft Customer
 * Agreement, in both sets of column names.
 *
 * Never books amortised cost as billed: a file with a line that only an amortised export has is refused whole. The
 * format keeps the name from the time when it read only the Enterprise Agreement. See reading/azure.ts.
 */
import type { UsageFormat } from '../core/ports.js';
import { isAzureCost, natureOf, readAzure } from './reading/azure.js';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'azure-ea',
  description: 'Azure cost details of actual cost as CSV: Enterprise Agreement and Microsoft Customer Agreement',
  recognises: (input) => isAzureCost(input) && natureOf(input) !== 'amortised',
  read: (input) => readAzure(input, 'actual'),
};
