/** In English: what the terms mean that pages use; `help.x` is the term, `help.x-text` its meaning. */
export const GLOSSARY = {
  'page.help': 'Terms',
  'help.lead': 'What the terms on these pages mean.',
  'help.about': 'What does this mean: {terms}?',
  'help.all': 'All terms',
  'help.actual': 'Actual cost',
  'help.actual-text':
    'The bill once its period is closed; before that, the cost of metered usage by the known prices. This is decided for each account and hour. Budgets use it unless they say otherwise.',
  'help.accrued': 'Accrued cost',
  'help.accrued-text':
    'Metered usage times its price, whatever a bill says. It is known within the hour, long before a bill comes.',
  'help.billed': 'Billed cost',
  'help.billed-text':
    'What the invoice charges, in the month in which it charges it: an upfront payment counts at once.',
  'help.effective': 'Effective (amortised) cost',
  'help.effective-text':
    'The bill, with advance payments spread over the time that they cover. A reservation paid for a year counts in every hour of that year.',
  'help.list': 'List cost',
  'help.list-text': 'What the same usage would cost at public prices without any discount or commitment.',
  'help.peak': 'Peak factor',
  'help.peak-text':
    'A number by which metered cost is multiplied at certain hours, such as 1.5 on working days. It is 1 if no rule matches, and never changes a bill.',
  'help.threshold': 'Threshold',
  'help.threshold-text':
    'A share of the planned amount at which an alert is sent, once per period: of the spend (actual) or of the forecast (forecast).',
  'help.interval': 'Interval (80 %)',
  'help.interval-text':
    'In 8 of 10 such cases the true amount lies between its two ends. If the low end is below zero, a recommendation may cost more than it saves.',
  'help.evidence': 'Evidence',
  'help.evidence-text':
    'Readings, requests, leases and labels that say whether a GPU is needed, with their age. Missing evidence never counts as idle.',
  'help.coverage': 'Coverage',
  'help.coverage-text':
    'The share of running resources for which there is evidence. A figure with little coverage says little about the rest.',
  'help.counterfactual': 'What would have happened otherwise',
  'help.counterfactual-text':
    'The cost of the same hours without the action, for example if a machine had kept running. A saving is that cost minus the real cost.',
  'help.verified': 'Measured and verified',
  'help.verified-text':
    'A saving is measured once metered usage shows it, and verified once the bill of its period is closed and agrees. Before that it is an estimate.',
  'help.break-even': 'Break-even',
  'help.break-even-text':
    'The use from which on a purchase costs less than the same hours on demand. Below it the purchase loses money.',
  'help.commitment': 'Commitment',
  'help.commitment-text':
    'A reservation or savings plan: a lower price for hours that are paid for whether they are used or not.',
  'help.mode': 'Mode',
  'help.mode-text':
    'How far a policy may go: observe only records, recommend proposes, approve waits for a person, enforce acts by itself within the limits.',
  'help.canary': 'Canary',
  'help.canary-text':
    'A change that is first made to a small part, and to the rest only if that part does well. Limits on how much one action may change serve the same end here.',
  'help.guard': 'Guard',
  'help.guard-text':
    'The last check right before an action: limits, quiet hours, protected labels, floors and the kill switch. It gives every reason against the action.',
  'help.unallocated': 'Unallocated',
  'help.unallocated-text': 'Spend that no rule assigns to a team. A rule for one of its tags or accounts assigns it.',
  'help.unpriced': 'Without a price',
  'help.unpriced-text':
    'Usage that no price list covers. It is not in any amount, and never counts as zero: the amounts shown are too low by its cost.',
  'help.set-aside': 'Set aside',
  'help.set-aside-text':
    'Amounts of a bill that is not final, for which metered usage counts until it is. They are in no sum, so that nothing counts twice.',
  'help.bridge': 'Volume, price and mix',
  'help.bridge-text':
    'Why spend changed. Volume: a kind of GPU was used more or less. Price: an hour cost more or less. Mix: use moved between machines, providers and terms.',
} as const;
