/**
 * Titles of the settings' fields, in English, where the name of the field says too little to people. By the name that
 * the API has; all other fields are called by their own names.
 */
export const FIELD_TITLES: Readonly<Record<string, string>> = {
  // Budgets.
  default: 'Amount of each period',
  periods: 'Periods with another amount',
  includeCredits: 'Credits lower the spend',
  ratio: 'Share of the planned amount',
  lengthDays: 'Length in days',
  // Limits of actions.
  gpusPerAction: 'GPUs per action, at most',
  replicasPerAction: 'Replicas per action, at most',
  actionsPerHour: 'Actions an hour, at most',
  gpusPerHour: 'GPUs an hour, at most',
  minReplicas: 'Replicas of a target, at least',
  minGpus: 'GPUs of a target, at least',
  minTeamGpus: 'GPUs of the team, at least',
  cooldownMinutes: 'Minutes between two actions on a target',
  evidenceMinutes: 'Age of evidence in minutes, at most',
  readingSeconds: 'Age of a reading in seconds, at most',
  separateApprover: 'Somebody else approves',
  separatePurchaseApprover: 'Somebody else approves purchases',
  purchasesPerMonth: 'Purchases a month, at most',
  // Alerts.
  leastSeverity: 'Severity, at least',
  afterHours: 'After so many hours',
  upTo: 'Severity, at most',
};
