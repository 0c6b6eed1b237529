/**
 * A client of Bursar's API. Made of docs/reference/openapi.json: tests/unit/docs/openapi.test.ts compares it, BURSAR_WRITE_DOCS=1 writes it anew.
 */

export type Action = { readonly id: string; readonly team: string; readonly connection: string; readonly target: string; readonly effect: { readonly kind: string; readonly target: string; readonly [name: string]: unknown }; readonly state: 'proposed' | 'approved' | 'intended' | 'applied' | 'confirmed' | 'measured' | 'refused' | 'failed' | 'rolled-back' | 'expired'; readonly mode: string; readonly recommendation: string | null; readonly policy: string | null; readonly document: string | null; readonly rollbackOf: string | null; readonly takenBackBy: string | null; readonly token: string | null; readonly underStop: boolean; readonly proposedBy: string; readonly approvedBy: string | null; readonly proposedAt: string | null; readonly expiresAt: string | null; readonly evidenceAt: string | null; readonly approvedAt: string | null; readonly intendedAt: string | null; readonly askedAt: string | null; readonly appliedAt: string | null; readonly confirmedAt: string | null; readonly endedAt: string | null; readonly before: { readonly target: string; readonly kind: string; readonly name: string; readonly provider: string; readonly state: string; readonly billing: string; readonly [name: string]: unknown } | null; readonly beforeAt: string | null; readonly after: { readonly target: string; readonly kind: string; readonly name: string; readonly provider: string; readonly state: string; readonly billing: string; readonly [name: string]: unknown } | null; readonly afterAt: string | null; readonly reasons: readonly ({ readonly code: string; readonly message: string })[]; readonly next: { readonly effect: { readonly kind: string; readonly target: string; readonly [name: string]: unknown }; readonly notBefore: string; readonly expiresAt: string } | null; readonly follows: string | null; readonly may: { readonly approve: { readonly code: 'scope' | 'state' | 'expired' | 'asked' | 'nothing' | 'rollback' | 'taken-back' | 'no-inverse' | 'stopped'; readonly message: string } | null; readonly reject: { readonly code: 'scope' | 'state' | 'expired' | 'asked' | 'nothing' | 'rollback' | 'taken-back' | 'no-inverse' | 'stopped'; readonly message: string } | null; readonly rollback: { readonly code: 'scope' | 'state' | 'expired' | 'asked' | 'nothing' | 'rollback' | 'taken-back' | 'no-inverse' | 'stopped'; readonly message: string } | null }; readonly saves: { readonly estimatedMonthlySavings: string | null; readonly estimatedMonthlySavingsLow: string | null; readonly estimatedMonthlySavingsHigh: string | null; readonly currency: string; readonly protective: boolean } | null };
export type ActionStory = { readonly id: string; readonly team: string; readonly connection: string; readonly target: string; readonly effect: { readonly kind: string; readonly target: string; readonly [name: string]: unknown }; readonly state: 'proposed' | 'approved' | 'intended' | 'applied' | 'confirmed' | 'measured' | 'refused' | 'failed' | 'rolled-back' | 'expired'; readonly mode: string; readonly recommendation: string | null; readonly policy: string | null; readonly document: string | null; readonly rollbackOf: string | null; readonly takenBackBy: string | null; readonly token: string | null; readonly underStop: boolean; readonly proposedBy: string; readonly approvedBy: string | null; readonly proposedAt: string | null; readonly expiresAt: string | null; readonly evidenceAt: string | null; readonly approvedAt: string | null; readonly intendedAt: string | null; readonly askedAt: string | null; readonly appliedAt: string | null; readonly confirmedAt: string | null; readonly endedAt: string | null; readonly before: { readonly target: string; readonly kind: string; readonly name: string; readonly provider: string; readonly state: string; readonly billing: string; readonly [name: string]: unknown } | null; readonly beforeAt: string | null; readonly after: { readonly target: string; readonly kind: string; readonly name: string; readonly provider: string; readonly state: string; readonly billing: string; readonly [name: string]: unknown } | null; readonly afterAt: string | null; readonly reasons: readonly ({ readonly code: string; readonly message: string })[]; readonly next: { readonly effect: { readonly kind: string; readonly target: string; readonly [name: string]: unknown }; readonly notBefore: string; readonly expiresAt: string } | null; readonly follows: string | null; readonly may: { readonly approve: { readonly code: 'scope' | 'state' | 'expired' | 'asked' | 'nothing' | 'rollback' | 'taken-back' | 'no-inverse' | 'stopped'; readonly message: string } | null; readonly reject: { readonly code: 'scope' | 'state' | 'expired' | 'asked' | 'nothing' | 'rollback' | 'taken-back' | 'no-inverse' | 'stopped'; readonly message: string } | null; readonly rollback: { readonly code: 'scope' | 'state' | 'expired' | 'asked' | 'nothing' | 'rollback' | 'taken-back' | 'no-inverse' | 'stopped'; readonly message: string } | null }; readonly saves: { readonly estimatedMonthlySavings: string | null; readonly estimatedMonthlySavingsLow: string | null; readonly estimatedMonthlySavingsHigh: string | null; readonly currency: string; readonly protective: boolean } | null; readonly events: readonly ({ readonly no: number; readonly at: string; readonly from: 'proposed' | 'approved' | 'intended' | 'applied' | 'confirmed' | 'measured' | 'refused' | 'failed' | 'rolled-back' | 'expired' | null; readonly to: 'proposed' | 'approved' | 'intended' | 'applied' | 'confirmed' | 'measured' | 'refused' | 'failed' | 'rolled-back' | 'expired'; readonly actor: string; readonly code: string; readonly detail: Readonly<Record<string, unknown>> })[] };
export type Admission = { readonly team: string; readonly day: string; readonly cluster: string; readonly namespace: string; readonly workload: string; readonly refused: number; readonly warned: number; readonly reasons: readonly ('budget-spent' | 'no-budget' | 'launches-stopped')[]; readonly message: string; readonly firstAt: string; readonly lastAt: string };
export type AdmissionReview = { readonly apiVersion: 'admission.k8s.io/v1'; readonly kind: 'AdmissionReview'; readonly response: { readonly uid: string; readonly allowed: boolean; readonly warnings?: readonly (string)[]; readonly auditAnnotations?: Readonly<Record<string, string>>; readonly status?: { readonly status: 'Failure'; readonly code: number; readonly reason: string; readonly message: string } } };
export type AdmissionReviewRequest = { readonly apiVersion: 'admission.k8s.io/v1'; readonly kind: 'AdmissionReview'; readonly request: { readonly uid: string; readonly kind: { readonly group?: string; readonly kind: string; readonly [name: string]: unknown }; readonly operation: string; readonly subResource?: string; readonly namespace?: string; readonly name?: string; readonly dryRun?: boolean | null; readonly object: unknown; readonly oldObject: unknown; readonly [name: string]: unknown }; readonly [name: string]: unknown };
export type AdmissionSettings = { readonly mode?: 'off' | 'warn' | 'refuse'; readonly withoutBudget?: 'off' | 'warn' | 'refuse'; readonly onFailure?: 'allow' | 'refuse'; readonly contact?: string | null; readonly exemptNamespaces?: readonly (string)[]; readonly teams?: Readonly<Record<string, { readonly mode?: 'off' | 'warn' | 'refuse'; readonly contact?: string | null }>> };
export type Alert = { readonly id: string; readonly kind: 'budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test'; readonly team: string | null; readonly severity: 'info' | 'warning' | 'critical'; readonly title: string; readonly state: 'new' | 'silent' | 'open' | 'answered' | 'told'; readonly silence: 'period-over' | 'before-connected' | 'old' | 'notice' | 'within-another' | 'muted' | 'no-route' | 'passed' | null; readonly thread: string; readonly answer: { readonly what: 'approved' | 'rejected' | 'withdrawn' | 'expired' | 'acknowledged'; readonly by: string; readonly at: string } | null; readonly level: number; readonly madeAt: string; readonly news: { readonly kind: string; readonly [name: string]: unknown } };
export type AlertRoutes = { readonly routes: readonly ({ readonly teams?: readonly (string)[] | null; readonly kinds?: readonly ('budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test')[] | null; readonly leastSeverity?: 'info' | 'warning' | 'critical'; readonly to: readonly ({ readonly channel: 'slack' | 'teams' | 'feishu' | 'dingtalk' | 'wecom' | 'webhook' | 'email' | 'log'; readonly address?: string | null })[]; readonly escalation?: readonly ({ readonly afterHours: number; readonly to: readonly ({ readonly channel: 'slack' | 'teams' | 'feishu' | 'dingtalk' | 'wecom' | 'webhook' | 'email' | 'log'; readonly address?: string | null })[] })[] })[] };
export type AlertStory = { readonly id: string; readonly kind: 'budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test'; readonly team: string | null; readonly severity: 'info' | 'warning' | 'critical'; readonly title: string; readonly state: 'new' | 'silent' | 'open' | 'answered' | 'told'; readonly silence: 'period-over' | 'before-connected' | 'old' | 'notice' | 'within-another' | 'muted' | 'no-route' | 'passed' | null; readonly thread: string; readonly answer: { readonly what: 'approved' | 'rejected' | 'withdrawn' | 'expired' | 'acknowledged'; readonly by: string; readonly at: string } | null; readonly level: number; readonly madeAt: string; readonly news: { readonly kind: string; readonly [name: string]: unknown }; readonly deliveries: readonly ({ readonly channel: string; readonly address: string | null; readonly part: 'message' | 'picture'; readonly level: number; readonly state: 'waiting' | 'sent' | 'unknown' | 'failed' | 'dropped'; readonly intendedAt: string; readonly sentAt: string | null; readonly problem: string | null })[] };
export type AllocationRule = { readonly match: { readonly provider?: string; readonly account?: string; readonly subAccount?: string; readonly tag?: { readonly key: string; readonly value: string }; readonly label?: { readonly key: string; readonly value: string }; readonly namespace?: string; readonly resource?: string; readonly service?: string; readonly sku?: string }; readonly team: string } | { readonly match: { readonly provider?: string; readonly account?: string; readonly subAccount?: string; readonly tag?: { readonly key: string; readonly value: string }; readonly label?: { readonly key: string; readonly value: string }; readonly namespace?: string; readonly resource?: string; readonly service?: string; readonly sku?: string }; readonly split: { readonly by: 'fixed'; readonly shares: Readonly<Record<string, string>> } | { readonly by: 'use'; readonly of?: readonly (string)[] } };
export type Anomaly = { readonly id: string; readonly foundAt: string; readonly anomaly: { readonly kind: 'anomaly' | 'price'; readonly what: string; readonly [name: string]: unknown } };
export type AuditCheck = { readonly holds: boolean; readonly entries: number; readonly since: { readonly seq: string; readonly hash: string; readonly droppedAt: string } | null; readonly head: { readonly seq: string; readonly hash: string } | null; readonly problems: readonly ({ readonly seq: string | null; readonly entry: string; readonly message: string })[] };
export type AuditEntry = { readonly id: string; readonly at: string; readonly actor: string; readonly verb: string; readonly target: string; readonly detail: Readonly<Record<string, unknown>> };
export type Backtest = { readonly id: string; readonly status: 'queued' | 'running' | 'done' | 'failed'; readonly progress: number; readonly document: { readonly name: string; readonly policy: string; readonly params: Readonly<Record<string, unknown>>; readonly [name: string]: unknown }; readonly teams: '*' | readonly (string)[]; readonly from: string; readonly to: string; readonly madeBy: string; readonly madeAt: string; readonly startedAt: string | null; readonly finishedAt: string | null; readonly error: { readonly message: string; readonly problems: readonly ({ readonly path: string | null; readonly message: string })[] } | null };
export type BacktestDetail = { readonly id: string; readonly status: 'queued' | 'running' | 'done' | 'failed'; readonly progress: number; readonly document: { readonly name: string; readonly policy: string; readonly params: Readonly<Record<string, unknown>>; readonly [name: string]: unknown }; readonly teams: '*' | readonly (string)[]; readonly from: string; readonly to: string; readonly madeBy: string; readonly madeAt: string; readonly startedAt: string | null; readonly finishedAt: string | null; readonly error: { readonly message: string; readonly problems: readonly ({ readonly path: string | null; readonly message: string })[] } | null; readonly result: BacktestReport | null };
export type BacktestOrder = { readonly policy: string | Readonly<Record<string, unknown>>; readonly from: string; readonly to: string; readonly teams?: readonly (string)[] };
export type BacktestReport = { readonly problem: 'policy'; readonly settings: Readonly<Record<string, unknown>>; readonly cells: readonly ({ readonly name: string; readonly count: number; readonly policies: readonly ({ readonly name: string; readonly meanShare: number | null; readonly [name: string]: unknown })[]; readonly unknown?: readonly ({ readonly name: string; readonly why: string })[]; readonly series?: { readonly from: string; readonly stepHours: number; readonly costs: Readonly<Record<string, readonly (number)[]>> } })[]; readonly mean: readonly ({ readonly name: string; readonly meanShare: number | null; readonly [name: string]: unknown })[] };
export type Bill = { readonly source: string; readonly provider: string; readonly account: string | null; readonly periodStart: string; readonly periodEnd: string; readonly state: 'open' | 'settling' | 'final'; readonly finalAt: string | null };
export type BindingLimits = { readonly team: string | null; readonly document: LimitsDocument; readonly limits: Limits };
export type Budget = { readonly id: string; readonly team: string; readonly period: 'month' | 'quarter' | 'year' | { readonly start: string; readonly lengthDays: number }; readonly zone: string; readonly currency: string; readonly filters: { readonly provider?: readonly (string)[]; readonly account?: readonly (string)[]; readonly subAccount?: readonly (string)[]; readonly region?: readonly (string)[]; readonly service?: readonly (string)[]; readonly category?: readonly ('Usage' | 'Purchase' | 'Tax' | 'Credit' | 'Adjustment')[]; readonly sku?: readonly (string)[]; readonly term?: readonly ('on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y')[]; readonly tag?: readonly ({ readonly key: string; readonly value: string })[] }; readonly basis?: 'actual' | 'effective' | 'accrued'; readonly planned: { readonly default: string | null; readonly periods: Readonly<Record<string, string>> }; readonly includeCredits: boolean; readonly thresholds: readonly ({ readonly kind: 'actual' | 'forecast'; readonly ratio: string })[] };
export type BudgetPeriod = { readonly periodStart: string; readonly periodEnd: string; readonly label: string; readonly isOver: boolean; readonly weighedAt: string; readonly state: { readonly status: 'planned' | 'not-planned'; readonly currency: string; readonly planned: string | null; readonly spent: string; readonly credits: string; readonly committed: string; readonly reserved?: string; readonly forecast: { readonly mean: string; readonly low: string; readonly high: string; readonly method: string } | null; readonly burnRatePerDay: string | null; readonly exhaustionAt: string | null; readonly exhaustionDay?: string | null; readonly unpricedGpuHours: string; readonly ratio: number | null; readonly unconverted: readonly (string)[]; readonly unstated?: readonly ({ readonly currency: string; readonly amount: string; readonly lines?: number })[]; readonly setAside?: readonly ({ readonly currency: string; readonly amount: string })[]; readonly unnamed?: readonly ({ readonly currency: string; readonly amount: string | null; readonly fields: readonly (string)[] })[]; readonly unpriced?: readonly ({ readonly provider: string; readonly sku: string | null; readonly component: 'gpu' | 'storage' | 'network'; readonly reason: string; readonly quantity: string | null; readonly hours: number })[] }; readonly crossings: readonly ({ readonly budget: string; readonly periodStart: string; readonly kind: string; readonly ratio: string; readonly crossedAt: string; readonly round: number })[] };
export type BudgetSettings = { readonly team: string; readonly period?: 'month' | 'quarter' | 'year' | { readonly start: string; readonly lengthDays: number }; readonly zone?: string; readonly currency?: string; readonly filters?: { readonly provider?: readonly (string)[]; readonly account?: readonly (string)[]; readonly subAccount?: readonly (string)[]; readonly region?: readonly (string)[]; readonly service?: readonly (string)[]; readonly category?: readonly ('Usage' | 'Purchase' | 'Tax' | 'Credit' | 'Adjustment')[]; readonly sku?: readonly (string)[]; readonly term?: readonly ('on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y')[]; readonly tag?: readonly ({ readonly key: string; readonly value: string })[] }; readonly basis?: 'actual' | 'effective' | 'accrued'; readonly planned: { readonly default?: string | null; readonly periods?: Readonly<Record<string, string>> }; readonly includeCredits?: boolean; readonly thresholds?: readonly ({ readonly kind: 'actual' | 'forecast'; readonly ratio: string })[] };
export type BudgetStanding = { readonly budget: string; readonly team: string; readonly periodStart: string | null; readonly periodEnd: string | null; readonly state: { readonly status: 'planned' | 'not-planned'; readonly currency: string; readonly planned: string | null; readonly spent: string; readonly credits: string; readonly committed: string; readonly reserved?: string; readonly forecast: { readonly mean: string; readonly low: string; readonly high: string; readonly method: string } | null; readonly burnRatePerDay: string | null; readonly exhaustionAt: string | null; readonly exhaustionDay?: string | null; readonly unpricedGpuHours: string; readonly ratio: number | null; readonly unconverted: readonly (string)[]; readonly unstated?: readonly ({ readonly currency: string; readonly amount: string; readonly lines?: number })[]; readonly setAside?: readonly ({ readonly currency: string; readonly amount: string })[]; readonly unnamed?: readonly ({ readonly currency: string; readonly amount: string | null; readonly fields: readonly (string)[] })[]; readonly unpriced?: readonly ({ readonly provider: string; readonly sku: string | null; readonly component: 'gpu' | 'storage' | 'network'; readonly reason: string; readonly quantity: string | null; readonly hours: number })[] } | null };
export type BudgetState = { readonly budget: string; readonly team: string; readonly periodStart: string; readonly periodEnd: string; readonly weighedAt: string; readonly state: { readonly status: 'planned' | 'not-planned'; readonly currency: string; readonly planned: string | null; readonly spent: string; readonly credits: string; readonly committed: string; readonly reserved?: string; readonly forecast: { readonly mean: string; readonly low: string; readonly high: string; readonly method: string } | null; readonly burnRatePerDay: string | null; readonly exhaustionAt: string | null; readonly exhaustionDay?: string | null; readonly unpricedGpuHours: string; readonly ratio: number | null; readonly unconverted: readonly (string)[]; readonly unstated?: readonly ({ readonly currency: string; readonly amount: string; readonly lines?: number })[]; readonly setAside?: readonly ({ readonly currency: string; readonly amount: string })[]; readonly unnamed?: readonly ({ readonly currency: string; readonly amount: string | null; readonly fields: readonly (string)[] })[]; readonly unpriced?: readonly ({ readonly provider: string; readonly sku: string | null; readonly component: 'gpu' | 'storage' | 'network'; readonly reason: string; readonly quantity: string | null; readonly hours: number })[] }; readonly crossings: readonly ({ readonly budget: string; readonly periodStart: string; readonly kind: string; readonly ratio: string; readonly crossedAt: string; readonly round: number })[] };
export type BudgetVerdict = { readonly budget: string; readonly team: string; readonly verdict: 'holds' | 'at-risk' | 'unknown' | 'exceeds'; readonly reasons: readonly (string)[]; readonly currency: string; readonly periodEnd: string; readonly weighedAt: string | null; readonly planned: string | null; readonly spent: string | null; readonly committed: string | null; readonly reserved: string | null; readonly cost: { readonly expected: string; readonly low: string; readonly high: string } | null; readonly costLater: string | null; readonly left: { readonly before: string; readonly after: string; readonly afterLow: string } | null; readonly leftOnForecast: { readonly before: string; readonly after: string; readonly afterLow: string } | null };
export type BurnDown = { readonly budget: string; readonly team: string; readonly currency: string; readonly zone: string; readonly periodStart: string; readonly periodEnd: string; readonly asOf: string; readonly planned: string | null; readonly days: readonly ({ readonly day: string; readonly spent: string; readonly total: string; readonly unpricedGpuHours: string })[]; readonly unconverted: readonly (string)[]; readonly setAside: readonly ({ readonly currency: string; readonly amount: string })[]; readonly unpriced: readonly ({ readonly provider: string; readonly sku: string | null; readonly component: 'gpu' | 'storage' | 'network'; readonly reason: string; readonly quantity: string | null; readonly hours: number })[] };
export type CommitmentCoverage = { readonly provider: string; readonly account: string | null; readonly service: string | null; readonly currency: string; readonly covered: string; readonly onDemand: string; readonly unknownLines: number; readonly coverage: string | null };
export type CommitmentUtilisation = { readonly provider: string; readonly account: string | null; readonly commitment: string; readonly category: 'Usage' | 'Spend' | null; readonly type: string | null; readonly name: string | null; readonly currency: string; readonly purchased: string; readonly used: string; readonly unused: string; readonly unknownLines: number; readonly utilisation: string | null };
export type Configuration = { readonly teams?: Readonly<Record<string, { readonly name?: string; readonly parent?: string | null; readonly zone?: string; readonly currency?: string }>>; readonly rules?: readonly (AllocationRule)[]; readonly peak?: readonly (PeakRule)[]; readonly limits?: Readonly<Record<string, Readonly<Record<string, unknown>>>>; readonly budgets?: Readonly<Record<string, BudgetSettings>>; readonly policies?: Readonly<Record<string, Readonly<Record<string, unknown>>>>; readonly routes?: readonly ({ readonly teams?: readonly (string)[] | null; readonly kinds?: readonly ('budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test')[] | null; readonly leastSeverity?: 'info' | 'warning' | 'critical'; readonly to: readonly ({ readonly channel: 'slack' | 'teams' | 'feishu' | 'dingtalk' | 'wecom' | 'webhook' | 'email' | 'log'; readonly address?: string | null })[]; readonly escalation?: readonly ({ readonly afterHours: number; readonly to: readonly ({ readonly channel: 'slack' | 'teams' | 'feishu' | 'dingtalk' | 'wecom' | 'webhook' | 'email' | 'log'; readonly address?: string | null })[] })[] })[] };
export type ConfigurationChange = { readonly configuration: Configuration; readonly prune?: boolean; readonly replaces: string; readonly override?: string | null };
export type ConfigurationPlan = { readonly revision: string; readonly changes: readonly ({ readonly section: 'teams' | 'rules' | 'peak' | 'limits' | 'budgets' | 'policies' | 'routes'; readonly id: string | null; readonly kind: 'add' | 'change' | 'remove'; readonly before: unknown; readonly after: unknown })[] };
export type ConfigurationPlanRequest = { readonly configuration: Configuration; readonly prune?: boolean };
export type ConnectSlackUser = { readonly key: string };
export type ContractFulfilment = { readonly commitment: string; readonly contract: string | null; readonly provider: string | null; readonly category: 'Spend' | 'Usage' | null; readonly type: string | null; readonly description: string | null; readonly periodStart: string | null; readonly periodEnd: string | null; readonly unit: string; readonly committed: string | null; readonly applied: string; readonly remaining: string | null; readonly fulfilment: string | null; readonly unknownLines: number };
export type CostBreakdown = { readonly basis: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly zone: string; readonly groupBy: readonly ('team' | 'provider' | 'account' | 'subAccount' | 'service' | 'sku' | 'region' | 'term' | 'gpuModel' | 'category' | 'sharedFrom')[]; readonly now: CostSpan; readonly before: CostSpan | null; readonly rows: readonly ({ readonly names: readonly (string | null)[]; readonly currency: string; readonly cost: string | null; readonly before: string | null; readonly change: string | null; readonly share: number | null; readonly gpuHours: string | null; readonly unpricedGpuHours: string })[]; readonly rest: readonly ({ readonly groups: number; readonly currency: string; readonly cost: string | null; readonly before: string | null; readonly change: string | null; readonly share: number | null; readonly gpuHours: string | null; readonly unpricedGpuHours: string })[]; readonly days: readonly (string)[]; readonly series: readonly ({ readonly name: { readonly value: string | null } | null; readonly currency: string; readonly values: readonly (string | null)[] })[]; readonly daysBefore: readonly ({ readonly currency: string; readonly values: readonly (string | null)[] })[]; readonly anomalies: readonly ({ readonly team: string; readonly day: string; readonly what: 'spike' | 'drop' | 'level-shift'; readonly currency: string; readonly observed: string; readonly expected: { readonly low: string; readonly mean: string; readonly high: string } })[]; readonly asOf?: string };
export type CostBridge = { readonly basis: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly zone: string; readonly now: CostSpan; readonly before: CostSpan; readonly bridges: readonly ({ readonly currency: string; readonly reason: string | null; readonly bridge: { readonly before: string; readonly after: string; readonly effects: { readonly volume: string; readonly price: string; readonly mix: string; readonly new: string; readonly gone: string; readonly charges: string; readonly credits: string }; readonly change: string; readonly cells: readonly ({ readonly provider: string; readonly sku: string | null; readonly gpuModel: string | null; readonly term: string | null; readonly category: string; readonly before: string; readonly after: string; readonly effects: { readonly volume: string; readonly price: string; readonly mix: string; readonly new: string; readonly gone: string; readonly charges: string; readonly credits: string } })[]; readonly rest: { readonly cells: number; readonly before: string; readonly after: string; readonly effects: { readonly volume: string; readonly price: string; readonly mix: string; readonly new: string; readonly gone: string; readonly charges: string; readonly credits: string } } | null; readonly unpricedGpuHours: { readonly before: string; readonly after: string } } | null })[]; readonly asOf?: string };
export type CostResources = { readonly basis: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly from: string; readonly to: string; readonly rows: readonly ({ readonly resource: string | null; readonly team: string; readonly currency: string; readonly cost: string | null; readonly share: number | null; readonly gpuHours: string | null })[]; readonly more: number; readonly asOf?: string };
export type CostSpan = { readonly from: string; readonly to: string; readonly totals: readonly ({ readonly currency: string; readonly cost: string })[]; readonly unpricedGpuHours: string; readonly lacking: { readonly unstated: readonly ({ readonly currency: string; readonly cost: string; readonly lines: number })[]; readonly unbilled: readonly ({ readonly currency: string; readonly cost: string })[]; readonly setAside: readonly ({ readonly currency: string; readonly cost: string })[]; readonly unconverted: readonly ({ readonly currency: string; readonly cost: string })[]; readonly unpriced: readonly ({ readonly provider: string; readonly sku: string | null; readonly component: 'gpu' | 'storage' | 'network'; readonly reason: string; readonly quantity: string | null; readonly hours: number })[] } };
export type CostView = { readonly id: string; readonly name: string; readonly owner: string; readonly isOwn: boolean; readonly shared: boolean; readonly query: Readonly<Record<string, string | readonly (string)[]>>; readonly changedAt: string };
export type CostViewSettings = { readonly name: string; readonly shared?: boolean; readonly query: Readonly<Record<string, string | readonly (string)[]>> };
export type Costs = { readonly basis: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly rows: readonly ({ readonly cost: string | null; readonly currency: string; readonly gpuHours: string | null; readonly unpricedQuantity: string; readonly unstated?: string; readonly [name: string]: unknown })[]; readonly total: string | null; readonly currency: string | null; readonly totals: readonly ({ readonly currency: string; readonly cost: string })[]; readonly unpricedQuantity: string; readonly lacking: { readonly unstated: readonly ({ readonly currency: string; readonly cost: string; readonly lines: number })[]; readonly unbilled: readonly ({ readonly currency: string; readonly cost: string })[]; readonly setAside: readonly ({ readonly currency: string; readonly cost: string })[]; readonly unconverted: readonly ({ readonly currency: string; readonly cost: string })[]; readonly unpriced: readonly ({ readonly provider: string; readonly sku: string | null; readonly component: 'gpu' | 'storage' | 'network'; readonly reason: string; readonly quantity: string | null; readonly hours: number })[] }; readonly warnings: readonly (string)[]; readonly pending: { readonly days: number; readonly allocations: number; readonly parked: number }; readonly asOf?: string; readonly bills: readonly (Bill)[] };
export type CreatedKey = { readonly id: string; readonly name: string; readonly role: string | null; readonly scopes: readonly ('usage:write' | 'samples:write' | 'admission' | 'read' | 'approve' | 'configure' | 'scim' | 'admin')[]; readonly teams: readonly (string)[] | null; readonly owner: string | null; readonly createdAt: string; readonly expiresAt: string | null; readonly revokedAt: string | null; readonly lastUsedAt: string | null; readonly previousUntil: string | null; readonly text: string | null };
export type Credit = { readonly id: string; readonly kind: 'promotional' | 'free-tier'; readonly provider?: string | null; readonly team?: string | null; readonly amount: string; readonly currency: string; readonly from: string; readonly until: string };
export type Credits = { readonly credits: readonly (Credit)[] };
export type CreditsView = { readonly credits: readonly ({ readonly id: string; readonly kind: 'promotional' | 'free-tier'; readonly provider?: string | null; readonly team?: string | null; readonly amount: string; readonly currency: string; readonly from: string; readonly until: string; readonly taken: string; readonly left: string })[] };
export type DeliveredFile = { readonly file: string; readonly bytes: number; readonly sha256: string };
export type Delivery = { readonly name: string; readonly source: string; readonly format: string; readonly openedAt: string; readonly openedBy: string; readonly files: readonly (DeliveredFile)[] };
export type DeliveryTerms = { readonly format?: string; readonly source?: string };
export type EndedSessions = { readonly ended: readonly (string)[] };
export type Explanation = { readonly asked: string; readonly kind: 'team' | 'budget' | 'target' | 'measured' | 'ambiguous'; readonly target: string; readonly team: string; readonly asOf: string; readonly known: readonly (string)[]; readonly recommended: { readonly at: string | null; readonly next: 'due' | 'failed' | 'when-something-changes'; readonly message: string }; readonly looks: readonly ({ readonly document: string | null; readonly policy: string; readonly mode: 'observe' | 'recommend' | 'approve' | 'enforce' | null; readonly target: string; readonly saw: readonly (string)[]; readonly proposes: readonly (string)[]; readonly leftAlone: { readonly code: string; readonly message: string; readonly toAct: string } | null; readonly recommendation: { readonly id: string; readonly status: 'open' | 'observed' | 'approved' | 'rejected' | 'superseded' | 'expired'; readonly madeAt: string; readonly decidedBy: string | null; readonly action: string | null; readonly because: string | null } | null })[] };
export type FleetCoverage = { readonly connection: string; readonly readAt: string | null; readonly completeAt: string | null; readonly complete: boolean; readonly targets: number; readonly stale: boolean; readonly problems: readonly (string)[] };
export type FleetDetails = { readonly asOf: string; readonly windowHours: number; readonly items: readonly ({ readonly target: { readonly connection: string; readonly team: string; readonly target: string; readonly kind: 'instance' | 'group' | 'workload' | 'node-pool' | 'commitment'; readonly name: string; readonly provider: string; readonly account: string | null; readonly region: string | null; readonly sku: string | null; readonly gpuModel: string | null; readonly gpus: number | null; readonly term: string | null; readonly state: string; readonly billing: string; readonly replicas: { readonly desired: number; readonly ready: number | null; readonly min: number | null; readonly max: number | null } | null; readonly spotRatio: number | null; readonly labels: Readonly<Record<string, string>>; readonly launchedAt: string | null; readonly knownAs: readonly (string)[]; readonly network: string | null; readonly seenAt: string; readonly ageSeconds: number; readonly missed: number; readonly onDemandBase?: number; readonly group?: unknown; readonly leaving?: number; readonly ruledOut?: unknown; readonly followedBy?: string; readonly managedBy?: readonly (string)[]; readonly paid?: 'hourly' | 'prepaid' | 'elsewhere'; readonly localDisks?: true; readonly mayKeepCharging?: true; readonly asOne?: true; readonly zone?: string; readonly movesTo?: readonly ({ readonly region: string; readonly zone: string | null })[]; readonly ended?: { readonly by: 'cloud' | 'somebody'; readonly because: string }; readonly outOfService?: string; readonly unwell?: string; readonly [name: string]: unknown }; readonly gpus: number | null; readonly utilisationRatio: number | null; readonly memoryUsedRatio: number | null; readonly evidence: { readonly minutes: number; readonly newestAt: string; readonly ageSeconds: number } | null; readonly hourlyCost: string | null; readonly unused: { readonly low: string; readonly high: string } | null; readonly currency: string; readonly because: 'no-price' | 'no-gpus' | 'not-measured' | 'not-billed' | null; readonly recommendation: { readonly id: string; readonly title: string; readonly action: string; readonly estimatedMonthlySavings: string | null; readonly estimatedMonthlySavingsLow: string | null; readonly estimatedMonthlySavingsHigh: string | null; readonly currency: string } | null; readonly lastAction: { readonly id: string; readonly effect: string; readonly state: string; readonly proposedAt: string } | null })[]; readonly more: boolean };
export type FleetTarget = { readonly connection: string; readonly team: string; readonly target: string; readonly kind: 'instance' | 'group' | 'workload' | 'node-pool' | 'commitment'; readonly name: string; readonly provider: string; readonly account: string | null; readonly region: string | null; readonly sku: string | null; readonly gpuModel: string | null; readonly gpus: number | null; readonly term: string | null; readonly state: string; readonly billing: string; readonly replicas: { readonly desired: number; readonly ready: number | null; readonly min: number | null; readonly max: number | null } | null; readonly spotRatio: number | null; readonly labels: Readonly<Record<string, string>>; readonly launchedAt: string | null; readonly knownAs: readonly (string)[]; readonly network: string | null; readonly seenAt: string; readonly ageSeconds: number; readonly missed: number; readonly onDemandBase?: number; readonly group?: unknown; readonly leaving?: number; readonly ruledOut?: unknown; readonly followedBy?: string; readonly managedBy?: readonly (string)[]; readonly paid?: 'hourly' | 'prepaid' | 'elsewhere'; readonly localDisks?: true; readonly mayKeepCharging?: true; readonly asOne?: true; readonly zone?: string; readonly movesTo?: readonly ({ readonly region: string; readonly zone: string | null })[]; readonly ended?: { readonly by: 'cloud' | 'somebody'; readonly because: string }; readonly outOfService?: string; readonly unwell?: string };
export type Found = { readonly items: readonly ({ readonly kind: 'team' | 'budget' | 'target' | 'action' | 'recommendation' | 'document'; readonly id: string; readonly name: string; readonly team: string | null; readonly state: string | null })[] };
export type FxChange = { readonly rows: number; readonly changed: number; readonly from: string | null };
export type FxRate = { readonly day: string; readonly currency: string; readonly perUsd: string; readonly source: string };
export type FxRates = { readonly rates: readonly ({ readonly day: string; readonly currency: string; readonly perUsd: string })[]; readonly source?: string };
export type HealthFinding = { readonly id: string; readonly source: string; readonly rule: 'busy' | 'hot' | 'pcie-replays' | 'gone' | 'failed' | 'network-latency' | 'low-utilisation'; readonly severity: 'notice' | 'warning' | 'fatal'; readonly team: string; readonly workload: string | null; readonly resource: string; readonly gpu: string; readonly migInstance: string | null; readonly title: string; readonly numbers: Readonly<Record<string, number>>; readonly evidence: { readonly what: string; readonly from: string; readonly to: string; readonly ageSeconds: number }; readonly openedAt: string; readonly seenAt: string; readonly clearedAt: string | null; readonly clearedBecause: 'evidence' | 'no-evidence' | null };
export type Import = { readonly id: string; readonly source: string; readonly file: string; readonly format: string; readonly rows: number; readonly accepted: number; readonly rejected: number; readonly unchanged: number; readonly billed: readonly ({ readonly provider: string; readonly currency: string; readonly amount: string })[]; readonly unknownColumns: readonly (string)[]; readonly importedAt: string; readonly importedBy: string; readonly warnings: readonly (string)[]; readonly undoneAt: string | null; readonly undoneBy: string | null };
export type ImportedFile = { readonly import: string | null; readonly file: string; readonly format: string; readonly rows: number; readonly accepted: number; readonly rejected: number; readonly unchanged: number; readonly billed: readonly ({ readonly provider: string; readonly currency: string; readonly amount: string })[]; readonly replaced: readonly ({ readonly provider: string; readonly account: string | null; readonly periodStart: string; readonly records: number })[]; readonly removed: readonly ({ readonly provider: string; readonly account: string | null; readonly periodStart: string; readonly records: number })[]; readonly restated: number; readonly outdated: number; readonly warnings: readonly (string)[]; readonly unknownColumns: readonly (string)[] };
export type ImportedPrices = { readonly file: string; readonly format: string; readonly rows: number; readonly accepted: number; readonly rejected: number; readonly unchanged: number; readonly rejects: readonly ({ readonly line: number; readonly column: string | null; readonly reason: string; readonly raw: string })[] };
export type Key = { readonly id: string; readonly name: string; readonly role: string | null; readonly scopes: readonly ('usage:write' | 'samples:write' | 'admission' | 'read' | 'approve' | 'configure' | 'scim' | 'admin')[]; readonly teams: readonly (string)[] | null; readonly owner: string | null; readonly createdAt: string; readonly expiresAt: string | null; readonly revokedAt: string | null; readonly lastUsedAt: string | null; readonly previousUntil: string | null };
export type KeyRequest = { readonly name: string; readonly role?: 'viewer' | 'operator' | 'admin' | string | null; readonly scopes?: readonly ('usage:write' | 'samples:write' | 'admission' | 'read' | 'approve' | 'configure' | 'scim' | 'admin')[] | null; readonly teams?: readonly (string)[] | null; readonly owner?: string | null; readonly expiresAt?: string | null };
export type KeyRotation = { readonly overlapSeconds?: number };
export type LearnedRate = { readonly id: string; readonly source: string; readonly month: string; readonly provider: string; readonly account: string | null; readonly sku: string; readonly region: string | null; readonly term: string | null; readonly periodStart: string; readonly periodEnd: string; readonly appliesFrom: string; readonly numerator: string | null; readonly denominator: string | null; readonly ratio: string | null; readonly trusted: boolean; readonly distrust: readonly (string)[]; readonly evidence: { readonly days: number; readonly meteredGpuHours: string; readonly billedGpuHours: string | null; readonly listCost: string; readonly charged: string; readonly billedList: string | null; readonly currency: string }; readonly learnedAt: string; readonly withdrawnAt: string | null; readonly withdrawnBy: string | null };
export type Lease = { readonly id: string; readonly team: string; readonly target: string; readonly holder: string | null; readonly gpus: number | null; readonly provider: string | null; readonly sku: string | null; readonly region: string | null; readonly gpuModel: string | null; readonly startedAt: string; readonly expiresAt: string | null; readonly active: boolean | null };
export type LeaseRenewal = { readonly expiresAt: string | null };
export type LeaseTerms = { readonly team: string; readonly target: string; readonly holder?: string | null; readonly gpus?: number | null; readonly provider?: string | null; readonly sku?: string | null; readonly region?: string | null; readonly gpuModel?: string | null; readonly expiresAt?: string | null };
export type LiftRequest = { readonly team?: string; readonly provider?: string };
export type Limits = { readonly gpusPerAction: number; readonly replicasPerAction: number; readonly actionsPerHour: number; readonly gpusPerHour: number; readonly minReplicas: number; readonly minGpus: number; readonly minTeamGpus: number; readonly cooldownMinutes: number; readonly evidenceMinutes: number; readonly readingSeconds: number; readonly protectedLabels: Readonly<Record<string, string>>; readonly quietHours: readonly ({ readonly zone: string; readonly from?: string; readonly to?: string; readonly days?: readonly (string)[]; readonly fromDate?: string; readonly untilDate?: string })[]; readonly separateApprover: boolean; readonly separatePurchaseApprover: boolean; readonly purchasesPerMonth: { readonly amount: string; readonly currency: string } | null };
export type LimitsDocument = { readonly gpusPerAction?: number; readonly replicasPerAction?: number; readonly actionsPerHour?: number; readonly gpusPerHour?: number; readonly minReplicas?: number; readonly minGpus?: number; readonly minTeamGpus?: number; readonly cooldownMinutes?: number; readonly evidenceMinutes?: number; readonly readingSeconds?: number; readonly protectedLabels?: Readonly<Record<string, string>>; readonly quietHours?: readonly ({ readonly zone: string; readonly from?: string; readonly to?: string; readonly days?: readonly (string)[]; readonly fromDate?: string; readonly untilDate?: string })[]; readonly separateApprover?: boolean; readonly separatePurchaseApprover?: boolean; readonly purchasesPerMonth?: { readonly amount: string; readonly currency: string } | null };
export type LoggedOut = { readonly ended: number };
export type Mute = { readonly id: string; readonly team: string | null; readonly kind: 'budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test' | null; readonly thread: string | null; readonly upTo: 'info' | 'warning' | 'critical' | null; readonly until: string; readonly reason: string; readonly by: string };
export type MuteRequest = { readonly team?: string | null; readonly kind?: 'budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test' | null; readonly thread?: string | null; readonly upTo?: 'info' | 'warning' | 'critical' | null; readonly until: string; readonly reason: string };
export type NewestWorkloadMetric = { readonly team: string; readonly workload: string; readonly name: string; readonly minutes: number; readonly at: string; readonly value: number };
export type Overview = { readonly asOf: string; readonly month: string; readonly monthStart: string; readonly monthEnd: string; readonly spend: readonly ({ readonly currency: string; readonly month: string; readonly monthBefore: string | null; readonly forecast: { readonly mean: string; readonly low: string; readonly high: string; readonly method: string } | null; readonly days: readonly ({ readonly day: string; readonly cost: string })[] })[]; readonly unpricedGpuHours: string; readonly setAside: readonly ({ readonly currency: string; readonly cost: string })[]; readonly unpriced: readonly ({ readonly provider: string; readonly sku: string | null; readonly component: 'gpu' | 'storage' | 'network'; readonly reason: string; readonly quantity: string | null; readonly hours: number })[]; readonly bills: readonly (Bill)[]; readonly budgets: { readonly count: number; readonly over: number; readonly forecastOver: number; readonly notPlanned: number; readonly notWeighed: number; readonly items: readonly (BudgetStanding)[] } };
export type ParkedWork = { readonly stage: string; readonly key: string; readonly attempts: number; readonly reason: string };
export type PeakRule = { readonly from?: string; readonly to?: string; readonly days?: readonly ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]; readonly zone: string; readonly fromDate?: string; readonly untilDate?: string; readonly factor: string };
export type PeakSchedule = { readonly rules: readonly (PeakRule)[] };
export type PlacementRequest = { readonly kind: 'training' | 'inference'; readonly memoryGibPerGpu: number; readonly gpusPerUnitMin?: number; readonly deadlineHours?: number; readonly egressGib?: number; readonly providers?: readonly (string)[]; readonly regions?: readonly (string)[]; readonly models?: readonly (string)[]; readonly terms?: readonly ('on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y')[]; readonly relativeSpeeds?: Readonly<Record<string, number>>; readonly spotShareMax?: number; readonly restOfTermUsed?: boolean; readonly most?: number; readonly measured?: { readonly team: string; readonly reference: string; readonly model: string; readonly batch?: number | null; readonly precision?: string | null; readonly optimizer?: string | null; readonly size?: number | null }; readonly gpus: number; readonly hours: number; readonly currency?: string; readonly account?: string | null };
export type Placements = { readonly currency: string; readonly best: { readonly parts: readonly ({ readonly provider: string; readonly sku: string; readonly region: string | null; readonly term: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly upfront: 'none' | 'partial' | 'all'; readonly gpuModel: string | null; readonly units: number; readonly gpus: number })[]; readonly gpus: number; readonly hours: number; readonly cost: string; readonly egressCost: string } | null; readonly runnersUp: readonly ({ readonly parts: readonly ({ readonly provider: string; readonly sku: string; readonly region: string | null; readonly term: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly upfront: 'none' | 'partial' | 'all'; readonly gpuModel: string | null; readonly units: number; readonly gpus: number })[]; readonly gpus: number; readonly hours: number; readonly cost: string; readonly egressCost: string; readonly lost: readonly ({ readonly kind: string; readonly message: string })[] })[]; readonly more: number; readonly refused: readonly ({ readonly kind: string; readonly count: number; readonly example: string })[]; readonly assumptions: readonly (string)[] };
export type PolicyCheck = { readonly valid: boolean; readonly problems: readonly ({ readonly path: string | null; readonly message: string })[]; readonly document: Readonly<Record<string, unknown>> | null };
export type PolicyDescription = { readonly name: string; readonly version: number; readonly description: string; readonly parameters: Readonly<Record<string, unknown>>; readonly examples: readonly ({ readonly title: string; readonly params: unknown; readonly proposes: readonly ({ readonly action: string; readonly target: string })[] })[] };
export type PolicyDocument = { readonly name: string; readonly policy: string; readonly teams: '*' | readonly (string)[]; readonly mode: 'observe' | 'recommend' | 'approve' | 'enforce'; readonly params?: Readonly<Record<string, unknown>>; readonly priority?: number };
export type PolicySettings = { readonly policy: string; readonly teams: '*' | readonly (string)[]; readonly mode: 'observe' | 'recommend' | 'approve' | 'enforce'; readonly params?: Readonly<Record<string, unknown>>; readonly priority?: number; readonly override?: string };
export type PriceVersion = { readonly id: string; readonly kind: 'price' | 'withdrawn'; readonly provider: string; readonly sku: string; readonly region: string | null; readonly term: string | null; readonly upfront: string | null; readonly component: string | null; readonly gpuModel: string | null; readonly gpus: number | null; readonly price: { readonly amount: string; readonly currency: string; readonly per: string; readonly unit: 'gpu-second' | 'gib-second' | 'gib' } | null; readonly effectiveFrom: string; readonly effectiveTo: string | null; readonly incrementSeconds: number | null; readonly minimumSeconds: number | null; readonly source: string; readonly origin: 'own' | 'provider' | 'derived' | 'third-party'; readonly withdrawnAt: string | null; readonly withdrawnBy: string | null };
export type Problem = { readonly type: string; readonly title: string; readonly status: number; readonly detail: string; readonly instance: string; readonly requestId: string; readonly problems: readonly ({ readonly path: string | null; readonly message: string })[]; readonly quote?: { readonly unpriced: string; readonly message: string; readonly close: readonly (string)[] } };
export type Quote = { readonly cost: string; readonly currency: string; readonly parts: { readonly gpu: string; readonly storage: string | null; readonly network: string | null }; readonly interval: { readonly low: string; readonly high: string; readonly because: readonly (string)[]; readonly leavesOut: readonly (string)[] }; readonly storageSku: string | null; readonly unitPrice: string; readonly learned: { readonly source: string; readonly account: string | null; readonly ratio: string; readonly listCost: string; readonly listUnitPrice: string } | null; readonly provider: string; readonly sku: string; readonly region: string | null; readonly term: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly upfront: 'none' | 'partial' | 'all'; readonly gpus: number; readonly hours: number; readonly billedHours: string; readonly source: string; readonly effectiveFrom: string; readonly assumptions: readonly (string)[]; readonly alternatives: readonly ({ readonly term: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly upfront: 'none' | 'partial' | 'all'; readonly region: string | null; readonly cost: string; readonly unitPrice: string; readonly learned: string | null })[]; readonly budgets: { readonly team: string; readonly verdict: 'holds' | 'at-risk' | 'unknown' | 'exceeds'; readonly budgets: readonly (BudgetVerdict)[] } | null; readonly placements: Placements | null };
export type QuoteRequest = { readonly provider: string; readonly sku: string; readonly gpus: number; readonly hours: number; readonly hoursLow?: number | null; readonly hoursHigh?: number | null; readonly restartHours?: number | null; readonly term?: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly region?: string | null; readonly upfront?: 'none' | 'partial' | 'all' | null; readonly currency?: string | null; readonly account?: string | null; readonly storageGib?: number | null; readonly storageSku?: string | null; readonly networkGib?: number | null; readonly team?: string | null; readonly tags?: Readonly<Record<string, string>> | null; readonly placement?: { readonly kind: 'training' | 'inference'; readonly memoryGibPerGpu: number; readonly gpusPerUnitMin?: number; readonly deadlineHours?: number; readonly egressGib?: number; readonly providers?: readonly (string)[]; readonly regions?: readonly (string)[]; readonly models?: readonly (string)[]; readonly terms?: readonly ('on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y')[]; readonly relativeSpeeds?: Readonly<Record<string, number>>; readonly spotShareMax?: number; readonly restOfTermUsed?: boolean; readonly most?: number } | null };
export type Readiness = { readonly status: 'ready' | 'not-ready'; readonly database: boolean; readonly migrated: boolean; readonly failing: readonly ({ readonly name: string; readonly since: string; readonly failures: number })[]; readonly queueAgeSeconds: number | null };
export type Recommendation = { readonly id: string; readonly team: string; readonly policy: string; readonly policyVersion: number; readonly action: string; readonly target: string; readonly title: string; readonly estimatedMonthlySavings: string | null; readonly estimatedMonthlySavingsLow: string | null; readonly estimatedMonthlySavingsHigh: string | null; readonly estimatedMonthlyCost: string | null; readonly estimatedSavingsPercentage: number | null; readonly savingRecurs?: 'monthly' | 'once'; readonly place?: { readonly provider: string; readonly region: string | null; readonly sku: string | null; readonly account?: string | null } | null; readonly currency: string; readonly computation: Readonly<Record<string, string | number>>; readonly evidence: readonly ({ readonly what: string; readonly from: string; readonly to: string; readonly ageSeconds: number })[]; readonly risk: { readonly interruption: string; readonly note: string }; readonly restartNeeded: boolean; readonly implementationEffort: string; readonly rollbackPossible: boolean; readonly expiresAt: string; readonly status: 'open' | 'observed' | 'approved' | 'rejected' | 'superseded' | 'expired'; readonly madeAt: string; readonly decidedBy: string | null; readonly actionId: string | null; readonly actionState: 'proposed' | 'approved' | 'intended' | 'applied' | 'confirmed' | 'measured' | 'refused' | 'failed' | 'rolled-back' | 'expired' | null; readonly obstacle: { readonly code: string; readonly message: string } | null; readonly obstacles: readonly ({ readonly code: string; readonly message: string })[]; readonly breakEven: { readonly of: 'use' | 'spot'; readonly ratio: number; readonly expected: number | null; readonly paidBackAfterDays: number | null } | null; readonly may: { readonly approve: { readonly code: 'scope' | 'state' | 'expired' | 'stopped'; readonly message: string } | null; readonly reject: { readonly code: 'scope' | 'state' | 'expired' | 'stopped'; readonly message: string } | null }; readonly [name: string]: unknown };
export type RecommendationEvidence = { readonly measure: 'gpus' | 'utilisation' | null; readonly stepSeconds: number; readonly points: readonly ({ readonly at: string; readonly value: number | null })[]; readonly threshold: number | null };
export type ReconciliationSettings = { readonly learnRates: boolean; readonly threshold: { readonly ratio: string; readonly amount: string }; readonly settling?: { readonly days: number; readonly providers: Readonly<Record<string, number>> } };
export type Reject = { readonly import: string; readonly no: number; readonly file: string; readonly line: number; readonly column: string | null; readonly reason: string; readonly raw: string };
export type RejectAction = { readonly reason?: string };
export type ReportEntry = { readonly team: string; readonly month: string; readonly zone: string; readonly currency: string; readonly total: string | null; readonly isOver: boolean; readonly madeAt: string; readonly announcedAt: string | null; readonly silence: 'period-over' | 'before-connected' | 'old' | 'notice' | 'within-another' | 'muted' | 'no-route' | 'passed' | null };
export type ReportRequest = { readonly team: string; readonly month: string };
export type ReportRequested = { readonly team: string; readonly month: string; readonly requested: true };
export type ReportSchedule = { readonly day: number; readonly hour: number };
export type Reservation = { readonly id: string; readonly team: string; readonly state: 'active' | 'used' | 'expired' | 'released'; readonly tag: { readonly key: string; readonly value: string }; readonly amount: string; readonly currency: string; readonly reason: string; readonly createdAt: string; readonly createdBy: string; readonly expiresAt: string; readonly releasedAt: string | null; readonly releasedBy: string | null; readonly holds: readonly ({ readonly budget: string; readonly held: string; readonly used: string; readonly remaining: string; readonly currency: string })[]; readonly quote: { readonly cost: string; readonly currency: string; readonly parts: { readonly gpu: string; readonly storage: string | null; readonly network: string | null }; readonly interval: { readonly low: string; readonly high: string; readonly because: readonly (string)[]; readonly leavesOut: readonly (string)[] }; readonly storageSku: string | null; readonly unitPrice: string; readonly learned: { readonly source: string; readonly account: string | null; readonly ratio: string; readonly listCost: string; readonly listUnitPrice: string } | null; readonly provider: string; readonly sku: string; readonly region: string | null; readonly term: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly upfront: 'none' | 'partial' | 'all'; readonly gpus: number; readonly hours: number; readonly billedHours: string; readonly source: string; readonly effectiveFrom: string; readonly assumptions: readonly (string)[]; readonly alternatives: readonly ({ readonly term: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly upfront: 'none' | 'partial' | 'all'; readonly region: string | null; readonly cost: string; readonly unitPrice: string; readonly learned: string | null })[] } };
export type ReservationRequest = { readonly provider: string; readonly sku: string; readonly gpus: number; readonly hours: number; readonly hoursLow?: number | null; readonly hoursHigh?: number | null; readonly restartHours?: number | null; readonly term?: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y'; readonly region?: string | null; readonly upfront?: 'none' | 'partial' | 'all' | null; readonly currency?: string | null; readonly account?: string | null; readonly storageGib?: number | null; readonly storageSku?: string | null; readonly networkGib?: number | null; readonly team: string; readonly tags?: Readonly<Record<string, string>> | null; readonly reason?: string; readonly holdHours?: number | null };
export type Role = { readonly name: string; readonly scopes: readonly ('usage:write' | 'samples:write' | 'admission' | 'read' | 'approve' | 'configure' | 'scim' | 'admin')[]; readonly description: string | null; readonly updatedAt: string | null; readonly updatedBy: string | null };
export type RoleRequest = { readonly scopes: readonly ('usage:write' | 'samples:write' | 'admission' | 'read' | 'approve' | 'configure' | 'scim' | 'admin')[]; readonly description?: string | null };
export type RollbackAction = { readonly underStop?: boolean };
export type RuleCandidates = { readonly from: string; readonly to: string; readonly rows: readonly ({ readonly match: { readonly provider?: string; readonly account?: string; readonly subAccount?: string; readonly tag?: { readonly key: string; readonly value: string }; readonly label?: { readonly key: string; readonly value: string }; readonly namespace?: string; readonly resource?: string; readonly service?: string; readonly sku?: string }; readonly currency: string; readonly cost: string | null; readonly gpuHours: string | null })[] };
export type RuleChange = { readonly rules: readonly (AllocationRule)[]; readonly replaces?: number };
export type RulePreview = { readonly teams: readonly ({ readonly team: string; readonly currency: string; readonly before: string | null; readonly after: string | null; readonly unpricedBefore: string; readonly unpricedAfter: string })[]; readonly totals: readonly ({ readonly currency: string; readonly before: string | null; readonly after: string | null; readonly unpricedBefore: string; readonly unpricedAfter: string })[] };
export type RuleSet = { readonly version: number; readonly rules: readonly (AllocationRule)[] };
export type Sample = { readonly resource: string; readonly gpu: string; readonly at: string | number; readonly migInstance?: string | null; readonly gpuModel?: string | null; readonly namespace?: string | null; readonly pod?: string | null; readonly gpuUtilisationRatio?: number | null; readonly memoryUsedRatio?: number | null; readonly memoryUsedMib?: number | null; readonly temperatureCelsius?: number | null; readonly powerWatts?: number | null; readonly pcieReplays?: number | null; readonly requestsPerSecond?: number | null; readonly networkLatencySeconds?: number | null; readonly fault?: string | null; readonly labels?: Readonly<Record<string, string>> };
export type SampleBatch = { readonly source?: string; readonly samples: readonly (Sample)[] };
export type SampleBatchResult = { readonly accepted: number; readonly teams: readonly (string)[] };
export type SampleRetention = { readonly days: number };
export type Saving = { readonly action: string; readonly team: string; readonly target: string; readonly effectKind: string; readonly policy: string | null; readonly policyVersion: number | null; readonly recommendation: string | null; readonly state: 'estimated' | 'measured' | 'verified' | 'unverifiable'; readonly reason: string | null; readonly currency: string; readonly from: string; readonly until: string; readonly isOver: boolean; readonly rolledBack: boolean; readonly counterfactualCost: string; readonly actualCost: string; readonly saved: string; readonly measured: string; readonly verified: string; readonly predicted: string | null; readonly estimatedMonthlySavings: string | null; readonly estimatedMonthlySavingsLow: string | null; readonly estimatedMonthlySavingsHigh: string | null; readonly claimedSeconds: number; readonly hours: { readonly measured: number; readonly verified: number; readonly unverifiable: number }; readonly reasons: Readonly<Record<string, number>>; readonly checkedAt: string };
export type SavingDetail = { readonly action: string; readonly team: string; readonly target: string; readonly effectKind: string; readonly policy: string | null; readonly policyVersion: number | null; readonly recommendation: string | null; readonly state: 'estimated' | 'measured' | 'verified' | 'unverifiable'; readonly reason: string | null; readonly currency: string; readonly from: string; readonly until: string; readonly isOver: boolean; readonly rolledBack: boolean; readonly counterfactualCost: string; readonly actualCost: string; readonly saved: string; readonly measured: string; readonly verified: string; readonly predicted: string | null; readonly estimatedMonthlySavings: string | null; readonly estimatedMonthlySavingsLow: string | null; readonly estimatedMonthlySavingsHigh: string | null; readonly claimedSeconds: number; readonly hours: { readonly measured: number; readonly verified: number; readonly unverifiable: number }; readonly reasons: Readonly<Record<string, number>>; readonly checkedAt: string; readonly effect: { readonly kind: string; readonly [name: string]: unknown }; readonly sharedWith: readonly (string)[]; readonly counterfactual: { readonly world: { readonly kind: string; readonly [name: string]: unknown }; readonly [name: string]: unknown }; readonly ledger: { readonly items: readonly (SavingHour)[]; readonly nextCursor: string | null } };
export type SavingHour = { readonly hour: string; readonly state: 'measured' | 'verified' | 'unverifiable' | 'withdrawn'; readonly reason: string | null; readonly currency: string; readonly claimedSeconds: number; readonly counterfactual: string; readonly actual: string; readonly saved: string; readonly lines: readonly ({ readonly no: number; readonly recordedAt: string; readonly state: 'measured' | 'verified' | 'unverifiable' | 'withdrawn'; readonly reason: string | null; readonly counterfactual: string; readonly actual: string; readonly saved: string; readonly links: Readonly<Record<string, unknown>> })[] };
export type SavingTotals = { readonly estimated: { readonly count: number; readonly unknown: number; readonly rolledBack: number; readonly monthly: readonly ({ readonly currency: string; readonly amount: string })[]; readonly monthlyLow: readonly ({ readonly currency: string; readonly amount: string })[]; readonly monthlyHigh: readonly ({ readonly currency: string; readonly amount: string })[] }; readonly measured: { readonly count: number; readonly saved: readonly ({ readonly currency: string; readonly amount: string })[] }; readonly verified: { readonly count: number; readonly saved: readonly ({ readonly currency: string; readonly amount: string })[] }; readonly unverifiable: { readonly count: number; readonly reasons: readonly ({ readonly reason: string; readonly count: number })[] } };
export type ScimPatch = { readonly Operations: readonly ({ readonly op: string; readonly path?: string | null; readonly value?: unknown; readonly [name: string]: unknown })[]; readonly [name: string]: unknown };
export type ScimResource = Readonly<Record<string, unknown>>;
export type Session = { readonly signedIn: { readonly kind: 'key' | 'user'; readonly id: string; readonly name: string; readonly role: string | null; readonly scopes: readonly ('usage:write' | 'samples:write' | 'admission' | 'read' | 'approve' | 'configure' | 'scim' | 'admin')[]; readonly teams: readonly (string)[] | null } | null; readonly oidc: boolean };
export type SessionsEnd = { readonly of: string };
export type SignIn = { readonly key: string };
export type SlackUser = { readonly workspace: string; readonly user: string; readonly key: string; readonly keyName: string; readonly role: string | null; readonly teams: readonly (string)[] | null; readonly isRevoked: boolean; readonly madeBy: string };
export type StandingSession = { readonly id: string; readonly principal: string; readonly name: string; readonly startedAt: string; readonly lastUsedAt: string; readonly endsAt: string; readonly address: string | null; readonly agent: string | null; readonly isCurrent: boolean };
export type StopRequest = { readonly team?: string; readonly provider?: string; readonly reason?: unknown };
export type Stops = { readonly stops: readonly ({ readonly scope: 'all' | 'team' | 'provider'; readonly name: string; readonly reason: string; readonly setAt: string; readonly setBy: string })[] };
export type StoredAdmissionSettings = { readonly mode: 'off' | 'warn' | 'refuse'; readonly withoutBudget: 'off' | 'warn' | 'refuse'; readonly onFailure: 'allow' | 'refuse'; readonly contact: string | null; readonly exemptNamespaces: readonly (string)[]; readonly teams: Readonly<Record<string, { readonly mode?: 'off' | 'warn' | 'refuse'; readonly contact?: string | null }>> };
export type StoredAlertRoutes = { readonly routes: readonly ({ readonly teams: readonly (string)[] | null; readonly kinds: readonly ('budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test')[] | null; readonly leastSeverity: 'info' | 'warning' | 'critical'; readonly to: readonly ({ readonly channel: 'slack' | 'teams' | 'feishu' | 'dingtalk' | 'wecom' | 'webhook' | 'email' | 'log'; readonly address: string | null })[]; readonly escalation: readonly ({ readonly afterHours: number; readonly to: readonly ({ readonly channel: 'slack' | 'teams' | 'feishu' | 'dingtalk' | 'wecom' | 'webhook' | 'email' | 'log'; readonly address: string | null })[] })[] })[]; readonly isDefault: boolean };
export type StoredConfiguration = { readonly revision: string; readonly configuration: Readonly<Record<string, unknown>> };
export type StoredPolicy = { readonly name: string; readonly policy: string; readonly teams: '*' | readonly (string)[]; readonly mode: 'observe' | 'recommend' | 'approve' | 'enforce'; readonly params: Readonly<Record<string, unknown>>; readonly priority: number; readonly isDefault: boolean; readonly paused: boolean; readonly version: number; readonly updatedAt: string | null; readonly updatedBy: string | null; readonly pausedAt: string | null; readonly pausedBy: string | null };
export type Team = { readonly id: string; readonly name: string; readonly parent: string | null; readonly zone: string; readonly currency: string; readonly assignedBy: string | null };
export type TeamLease = { readonly lease: string; readonly target: string; readonly holder: string | null; readonly gpus: number | null; readonly startedAt: string; readonly expiresAt: string | null; readonly active: boolean | null; readonly provider: string | null; readonly sku: string | null; readonly region: string | null; readonly gpuModel: string | null };
export type TeamSettings = { readonly name?: string; readonly parent?: string | null; readonly zone?: string; readonly currency?: string };
export type TelemetrySource = { readonly name: string; readonly readTo: string; readonly coverage: number | null; readonly problems: readonly (string)[] };
export type ThroughputMeasurement = { readonly id: string; readonly team: string; readonly model: string; readonly gpuModel: string; readonly gpuCount: number; readonly batch: number; readonly family: string | null; readonly params: number | null; readonly size: number | null; readonly optimizer: string | null; readonly precision: string | null; readonly nodes: number | null; readonly samplesPerSecond: number; readonly peakMemoryGib: number | null; readonly measuredAt: string };
export type ThroughputMeasurements = { readonly team: string; readonly measurements: readonly ({ readonly model: string; readonly gpuModel: string; readonly gpuCount: number; readonly batch: number; readonly family?: string | null; readonly params?: number | null; readonly size?: number | null; readonly optimizer?: string | null; readonly precision?: string | null; readonly nodes?: number | null; readonly samplesPerSecond: number; readonly peakMemoryGib?: number | null; readonly measuredAt?: string | null })[] };
export type ThroughputPrediction = { readonly samplesPerSecond: number; readonly isMeasured: boolean; readonly low: number; readonly high: number; readonly measurements: number; readonly background: number; readonly secondsToFinish: { readonly expected: number; readonly low: number; readonly high: number } | null; readonly cost: { readonly expected: string; readonly low: string; readonly high: string } | null; readonly price: { readonly provider: string; readonly sku: string; readonly region: string | null; readonly term: string; readonly perGpuHour: string; readonly currency: string; readonly source: string } | null };
export type ThroughputQuestion = { readonly team: string; readonly model: string; readonly gpuModel: string; readonly gpuCount: number; readonly batch: number; readonly family?: string | null; readonly params?: number | null; readonly size?: number | null; readonly optimizer?: string | null; readonly precision?: string | null; readonly nodes?: number | null; readonly samples?: number; readonly provider?: string; readonly region?: string; readonly term?: 'on-demand' | 'spot'; readonly currency?: string };
export type UndoneImport = { readonly import: string; readonly files: readonly ({ readonly import: string; readonly file: string })[]; readonly records: number; readonly restored: readonly ({ readonly provider: string; readonly account: string | null; readonly periodStart: string; readonly records: number })[]; readonly restoredRecords: number; readonly prices: number };
export type UsageBatch = { readonly records: readonly (UsageItem)[] } | readonly (UsageItem)[] | UsageItem;
export type UsageBatchResult = { readonly import: string | null; readonly file: string; readonly format: string; readonly rows: number; readonly accepted: number; readonly rejected: number; readonly unchanged: number; readonly billed: readonly ({ readonly provider: string; readonly currency: string; readonly amount: string })[]; readonly replaced: readonly ({ readonly provider: string; readonly account: string | null; readonly periodStart: string; readonly records: number })[]; readonly removed: readonly ({ readonly provider: string; readonly account: string | null; readonly periodStart: string; readonly records: number })[]; readonly restated: number; readonly outdated: number; readonly warnings: readonly (string)[]; readonly unknownColumns: readonly (string)[]; readonly rejects: readonly ({ readonly line: number; readonly column: string | null; readonly reason: string; readonly raw: string })[] };
export type UsageData = { readonly id?: string | null; readonly provider: string; readonly account?: string | null; readonly subAccount?: string | null; readonly resource?: string | null; readonly namespace?: string | null; readonly service?: string | null; readonly sku?: string | null; readonly region?: string | null; readonly term?: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y' | null; readonly gpuModel?: string | null; readonly gpus?: number | string | null; readonly gpuMilli?: number | null; readonly migProfile?: string | null; readonly storageGib?: number | string | null; readonly networkGib?: number | string | null; readonly networkBytes?: number | null; readonly start: string; readonly end: string; readonly tags?: Readonly<Record<string, string>> | null; readonly labels?: Readonly<Record<string, string>> | null; readonly revision?: number | null; readonly updatedAt?: string | null; readonly corrects?: string | null };
export type UsageEvent = { readonly specversion: '1.0'; readonly type: 'bursar.usage.v1'; readonly source: string; readonly id: string; readonly datacontenttype?: string | null; readonly data: UsageData; readonly [name: string]: unknown };
export type UsageItem = UsageRecord | UsageEvent;
export type UsageRecord = { readonly id: string; readonly provider: string; readonly account?: string | null; readonly subAccount?: string | null; readonly resource?: string | null; readonly namespace?: string | null; readonly service?: string | null; readonly sku?: string | null; readonly region?: string | null; readonly term?: 'on-demand' | 'spot' | 'reserved-1y' | 'reserved-3y' | 'savings-plan-1y' | 'savings-plan-3y' | null; readonly gpuModel?: string | null; readonly gpus?: number | string | null; readonly gpuMilli?: number | null; readonly migProfile?: string | null; readonly storageGib?: number | string | null; readonly networkGib?: number | string | null; readonly networkBytes?: number | null; readonly start: string; readonly end: string; readonly tags?: Readonly<Record<string, string>> | null; readonly labels?: Readonly<Record<string, string>> | null; readonly revision?: number | null; readonly updatedAt?: string | null; readonly corrects?: string | null };
export type Variance = { readonly team: string; readonly source: string; readonly month: string; readonly day: string; readonly provider: string; readonly account: string | null; readonly sku: string | null; readonly gpuModel: string | null; readonly region: string | null; readonly term: string | null; readonly billedTerms: readonly (string)[]; readonly component: string | null; readonly category: string; readonly matchedBy: 'sku' | 'resource' | 'gpu-model' | null; readonly currency: string; readonly billedCurrency: string | null; readonly accrued: string | null; readonly accruedList: string | null; readonly billed: string | null; readonly effective: string | null; readonly list: string | null; readonly compared: string | null; readonly basis: 'effective' | 'billed' | 'mixed' | null; readonly variance: string | null; readonly ratio: string | null; readonly quantityVariance: string | null; readonly rateVariance: string | null; readonly meteredGpuHours: string | null; readonly billedGpuHours: string | null; readonly unpricedGpuHours: string; readonly reasons: readonly ('quantity' | 'rate' | 'quantity-unknown' | 'only-metered' | 'only-billed' | 'not-billed-yet' | 'sku-not-comparable' | 'unpriced' | 'spans-days' | 'no-fx-rate' | 'rounding' | 'apart')[] };
export type VarianceFinding = { readonly id: string; readonly team: string; readonly source: string; readonly month: string; readonly provider: string; readonly account: string | null; readonly sku: string | null; readonly gpuModel: string | null; readonly region: string | null; readonly term: string | null; readonly component: string | null; readonly currency: string; readonly accrued: string | null; readonly compared: string | null; readonly variance: string; readonly ratio: string | null; readonly days: number; readonly reasons: readonly (string)[]; readonly foundAt: string; readonly resolvedAt: string | null };
export type Waiting = { readonly recommendations: number; readonly actions: number; readonly alerts: number; readonly findings: number };
export type WorkloadMetricPoint = { readonly workload: string; readonly name: string; readonly at: string; readonly value: number };
export type WorkloadMetrics = { readonly team: string; readonly points: readonly (WorkloadMetricPoint)[] };

export interface Operations {
  /** Lift a mute */
  'DELETE /v1/alert-mutes/{id}': { path: { readonly id: string }; answer: Mute };
  /** Remove a budget */
  'DELETE /v1/budgets/{id}': { path: { readonly id: string }; answer: Budget };
  /** Remove a saved question */
  'DELETE /v1/cost-views/{id}': { path: { readonly id: string }; answer: { readonly removed: string } };
  /** Discard an open delivery and its files */
  'DELETE /v1/deliveries/{name}': { path: { readonly name: string }; answer: Delivery };
  /** Revoke a key */
  'DELETE /v1/keys/{id}': { path: { readonly id: string }; answer: Key };
  /** End a lease */
  'DELETE /v1/leases/{id}': { path: { readonly id: string }; answer: Lease };
  /** End one of your own sessions */
  'DELETE /v1/me/sessions/{id}': { path: { readonly id: string }; answer: EndedSessions };
  /** Release a reservation */
  'DELETE /v1/reservations/{id}': { path: { readonly id: string }; answer: Reservation };
  /** Remove a custom role */
  'DELETE /v1/roles/{name}': { path: { readonly name: string }; answer: Role };
  /** End anybody's session */
  'DELETE /v1/sessions/{id}': { path: { readonly id: string }; answer: EndedSessions };
  /** Take its rights from a Slack user */
  'DELETE /v1/slack-users/{workspace}/{user}': { path: { readonly user: string; readonly workspace: string }; answer: SlackUser };
  /** Remove a team */
  'DELETE /v1/teams/{id}': { path: { readonly id: string }; answer: Team };
  /** Remove a measured throughput */
  'DELETE /v1/throughput-measurements/{id}': { path: { readonly id: string }; answer: { readonly removed: string } };
  /** List actions, newest first */
  'GET /v1/actions': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly state?: 'proposed' | 'approved' | 'intended' | 'applied' | 'confirmed' | 'measured' | 'refused' | 'failed' | 'rolled-back' | 'expired' }; answer: { readonly items: readonly (Action)[]; readonly nextCursor: string | null } };
  /** Get an action with its timeline and its proof */
  'GET /v1/actions/{id}': { path: { readonly id: string }; answer: ActionStory };
  /** Get what the admission webhook refuses */
  'GET /v1/admission': { answer: StoredAdmissionSettings };
  /** List refused and warned launches */
  'GET /v1/admissions': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly from?: string; readonly to?: string }; answer: { readonly items: readonly (Admission)[]; readonly nextCursor: string | null } };
  /** List the mutes */
  'GET /v1/alert-mutes': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Mute)[]; readonly nextCursor: string | null } };
  /** Get where alerts go */
  'GET /v1/alert-routes': { answer: StoredAlertRoutes };
  /** List alerts, newest first */
  'GET /v1/alerts': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly kind?: 'budget' | 'anomaly' | 'price' | 'approval' | 'result' | 'health' | 'variance' | 'digest' | 'test'; readonly state?: 'new' | 'silent' | 'open' | 'answered' | 'told' }; answer: { readonly items: readonly (Alert)[]; readonly nextCursor: string | null } };
  /** Get an alert with its deliveries */
  'GET /v1/alerts/{id}': { path: { readonly id: string }; answer: AlertStory };
  /** List unusual spend and prices, newest first */
  'GET /v1/anomalies': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string }; answer: { readonly items: readonly (Anomaly)[]; readonly nextCursor: string | null } };
  /** List what was done, newest first */
  'GET /v1/audit': { query: { readonly limit?: number; readonly cursor?: string; readonly actor?: string; readonly verb?: string; readonly target?: string; readonly from?: string; readonly to?: string }; answer: { readonly items: readonly (AuditEntry)[]; readonly nextCursor: string | null } };
  /** Entries in the order of their chain, one JSON object per line */
  'GET /v1/audit/export': { query: { readonly after?: string; readonly limit?: number }; answer: string };
  /** Check that the audit is whole and unchanged */
  'GET /v1/audit/verification': { query: { readonly head?: string }; answer: AuditCheck };
  /** List backtests, newest first */
  'GET /v1/backtests': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Backtest)[]; readonly nextCursor: string | null } };
  /** Get a backtest, with its report once it is done */
  'GET /v1/backtests/{id}': { path: { readonly id: string }; answer: BacktestDetail };
  /** Progress of a backtest, as server-sent events */
  'GET /v1/backtests/{id}/events': { path: { readonly id: string }; answer: string };
  /** A finished backtest's picture, PNG */
  'GET /v1/backtests/{id}/plot.png': { path: { readonly id: string }; answer: Uint8Array };
  /** A finished backtest's picture, SVG */
  'GET /v1/backtests/{id}/plot.svg': { path: { readonly id: string }; answer: string };
  /** List the state of budgets in their newest evaluated periods */
  'GET /v1/budget-states': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string }; answer: { readonly items: readonly (BudgetStanding)[]; readonly nextCursor: string | null } };
  /** List budgets */
  'GET /v1/budgets': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Budget)[]; readonly nextCursor: string | null } };
  /** Get a budget */
  'GET /v1/budgets/{id}': { path: { readonly id: string }; answer: Budget };
  /** What a budget covers, day by day of its period */
  'GET /v1/budgets/{id}/burn-down': { path: { readonly id: string }; answer: BurnDown };
  /** List the evaluated periods of a budget, newest first, with the result of each */
  'GET /v1/budgets/{id}/periods': { path: { readonly id: string }; query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (BudgetPeriod)[]; readonly nextCursor: string | null } };
  /** Get the state of a budget in its newest evaluated period */
  'GET /v1/budgets/{id}/state': { path: { readonly id: string }; answer: BudgetState };
  /** Utilisation and coverage of commitments, and what was applied to contracts, from bills */
  'GET /v1/commitments': { query: { readonly from?: string; readonly to?: string }; answer: { readonly contracts: readonly (ContractFulfilment)[]; readonly commitments: readonly (CommitmentUtilisation)[]; readonly coverage: readonly (CommitmentCoverage)[] } };
  /** Get the configuration as one document */
  'GET /v1/configuration': { answer: StoredConfiguration };
  /** List saved questions about costs */
  'GET /v1/cost-views': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (CostView)[]; readonly nextCursor: string | null } };
  /** Get what was spent */
  'GET /v1/costs': { query: { readonly from?: string; readonly to?: string; readonly basis?: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly zone?: string; readonly currency?: string; readonly team?: string | readonly (string)[]; readonly provider?: string | readonly (string)[]; readonly account?: string | readonly (string)[]; readonly 'sub-account'?: string | readonly (string)[]; readonly service?: string | readonly (string)[]; readonly sku?: string | readonly (string)[]; readonly region?: string | readonly (string)[]; readonly term?: string | readonly (string)[]; readonly 'gpu-model'?: string | readonly (string)[]; readonly category?: string | readonly (string)[]; readonly 'group-by'?: string }; answer: Costs };
  /** Get what costs consist of, and how they changed */
  'GET /v1/costs/breakdown': { query: { readonly from?: string; readonly to?: string; readonly basis?: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly zone?: string; readonly currency?: string; readonly team?: string | readonly (string)[]; readonly provider?: string | readonly (string)[]; readonly account?: string | readonly (string)[]; readonly 'sub-account'?: string | readonly (string)[]; readonly service?: string | readonly (string)[]; readonly sku?: string | readonly (string)[]; readonly region?: string | readonly (string)[]; readonly term?: string | readonly (string)[]; readonly 'gpu-model'?: string | readonly (string)[]; readonly category?: string | readonly (string)[]; readonly 'group-by'?: string; readonly span?: '7' | '30' | '90' | '365' | 'month' | 'last-month'; readonly compare?: 'before' | 'none'; readonly limit?: number }; answer: CostBreakdown };
  /** Get why costs changed from the period before */
  'GET /v1/costs/bridge': { query: { readonly from?: string; readonly to?: string; readonly basis?: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly zone?: string; readonly currency?: string; readonly team?: string | readonly (string)[]; readonly provider?: string | readonly (string)[]; readonly account?: string | readonly (string)[]; readonly 'sub-account'?: string | readonly (string)[]; readonly service?: string | readonly (string)[]; readonly sku?: string | readonly (string)[]; readonly region?: string | readonly (string)[]; readonly term?: string | readonly (string)[]; readonly 'gpu-model'?: string | readonly (string)[]; readonly category?: string | readonly (string)[]; readonly span?: '7' | '30' | '90' | '365' | 'month' | 'last-month' }; answer: CostBridge };
  /** Get what each resource cost */
  'GET /v1/costs/resources': { query: { readonly from?: string; readonly to?: string; readonly basis?: 'actual' | 'accrued' | 'billed' | 'effective' | 'list'; readonly zone?: string; readonly currency?: string; readonly team?: string | readonly (string)[]; readonly provider?: string | readonly (string)[]; readonly account?: string | readonly (string)[]; readonly 'sub-account'?: string | readonly (string)[]; readonly service?: string | readonly (string)[]; readonly sku?: string | readonly (string)[]; readonly region?: string | readonly (string)[]; readonly term?: string | readonly (string)[]; readonly 'gpu-model'?: string | readonly (string)[]; readonly category?: string | readonly (string)[]; readonly span?: '7' | '30' | '90' | '365' | 'month' | 'last-month'; readonly limit?: number }; answer: CostResources };
  /** List the credits and what is left of them */
  'GET /v1/credits': { answer: CreditsView };
  /** List open deliveries */
  'GET /v1/deliveries': { answer: { readonly deliveries: readonly (Delivery)[] } };
  /** Explain how the policies judge a target, a team or a budget */
  'GET /v1/explain': { query: { readonly target: string }; answer: Explanation };
  /** List what runs at the providers */
  'GET /v1/fleet': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly connection?: string; readonly kind?: 'instance' | 'group' | 'workload' | 'node-pool' | 'commitment' }; answer: { readonly items: readonly (FleetTarget)[]; readonly nextCursor: string | null } };
  /** Age and completeness of the readings of each connection */
  'GET /v1/fleet/coverage': { answer: { readonly items: readonly (FleetCoverage)[] } };
  /** What the fleet costs, how its GPUs are used, and what is done about it */
  'GET /v1/fleet/details': { query: { readonly team?: string; readonly currency?: string }; answer: FleetDetails };
  /** List exchange rates */
  'GET /v1/fx': { query: { readonly limit?: number; readonly cursor?: string; readonly currency?: string }; answer: { readonly items: readonly (FxRate)[]; readonly nextCursor: string | null } };
  /** List findings about the health of GPUs */
  'GET /v1/health-findings': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly status?: 'open' | 'cleared' }; answer: { readonly items: readonly (HealthFinding)[]; readonly nextCursor: string | null } };
  /** List imports, newest first */
  'GET /v1/imports': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Import)[]; readonly nextCursor: string | null } };
  /** List rows of an import that could not be read */
  'GET /v1/imports/{id}/rejects': { path: { readonly id: string }; query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Reject)[]; readonly nextCursor: string | null } };
  /** List keys */
  'GET /v1/keys': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Key)[]; readonly nextCursor: string | null } };
  /** List leases */
  'GET /v1/leases': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string }; answer: { readonly items: readonly (Lease)[]; readonly nextCursor: string | null } };
  /** Get the limits of actions */
  'GET /v1/limits': { query: { readonly team?: string }; answer: BindingLimits };
  /** List your own sessions */
  'GET /v1/me/sessions': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (StandingSession)[]; readonly nextCursor: string | null } };
  /** Spend, forecast and budgets at a glance */
  'GET /v1/overview': { answer: Overview };
  /** Get the peak schedule */
  'GET /v1/peak': { answer: PeakSchedule };
  /** List the policies and the current documents */
  'GET /v1/policies': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (StoredPolicy)[]; readonly nextCursor: string | null; readonly catalogue: readonly (PolicyDescription)[] } };
  /** Get a policy document */
  'GET /v1/policies/{name}': { path: { readonly name: string }; answer: StoredPolicy };
  /** List price versions */
  'GET /v1/prices': { query: { readonly limit?: number; readonly cursor?: string; readonly provider?: string; readonly sku?: string }; answer: { readonly items: readonly (PriceVersion)[]; readonly nextCursor: string | null } };
  /** List recommendations */
  'GET /v1/recommendations': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly status?: 'open' | 'observed' | 'approved' | 'rejected' | 'superseded' | 'expired' }; answer: { readonly items: readonly (Recommendation)[]; readonly nextCursor: string | null } };
  /** Get a recommendation */
  'GET /v1/recommendations/{id}': { path: { readonly id: string }; answer: Recommendation };
  /** Get the evidence of a recommendation, as a series */
  'GET /v1/recommendations/{id}/evidence': { path: { readonly id: string }; answer: RecommendationEvidence };
  /** List how bills differ from accruals, by team, SKU and day */
  'GET /v1/reconciliation': { query: { readonly limit?: number; readonly cursor?: string; readonly month?: string; readonly team?: string; readonly source?: string; readonly provider?: string; readonly sku?: string; readonly reason?: 'quantity' | 'rate' | 'quantity-unknown' | 'only-metered' | 'only-billed' | 'not-billed-yet' | 'sku-not-comparable' | 'unpriced' | 'spans-days' | 'no-fx-rate' | 'rounding' | 'apart'; readonly from?: string; readonly to?: string }; answer: { readonly items: readonly (Variance)[]; readonly nextCursor: string | null; readonly totals: readonly ({ readonly currency: string; readonly accrued: string; readonly compared: string; readonly variance: string; readonly apart: string; readonly unpricedGpuHours: string })[] } };
  /** List variances beyond the threshold, newest month first */
  'GET /v1/reconciliation/findings': { query: { readonly limit?: number; readonly cursor?: string; readonly month?: string; readonly team?: string; readonly state?: 'open' | 'resolved' }; answer: { readonly items: readonly (VarianceFinding)[]; readonly nextCursor: string | null } };
  /** List the rates learned from bills, newest period first */
  'GET /v1/reconciliation/rates': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (LearnedRate)[]; readonly nextCursor: string | null } };
  /** Get whether learned rates are applied, the threshold of findings, and how long bills settle */
  'GET /v1/reconciliation/settings': { answer: ReconciliationSettings };
  /** List all rows that could not be read, newest import first */
  'GET /v1/rejects': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Reject)[]; readonly nextCursor: string | null } };
  /** List monthly reports, newest month first */
  'GET /v1/reports': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly month?: string }; answer: { readonly items: readonly (ReportEntry)[]; readonly nextCursor: string | null } };
  /** When monthly reports are made */
  'GET /v1/reports/schedule': { answer: ReportSchedule };
  /** Get a team's report of a month */
  'GET /v1/reports/{team}/{month}': { path: { readonly month: string; readonly team: string }; query: { readonly format?: 'html' | 'pdf' | 'csv' | 'xlsx' | 'json' | 'png'; readonly lang?: 'en' | 'zh' }; answer: string | Uint8Array | Readonly<Record<string, unknown>> };
  /** List reservations, newest first */
  'GET /v1/reservations': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly active?: 'true' | 'false' }; answer: { readonly items: readonly (Reservation)[]; readonly nextCursor: string | null } };
  /** List roles */
  'GET /v1/roles': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Role)[]; readonly nextCursor: string | null } };
  /** Get the allocation rules */
  'GET /v1/rules': { answer: RuleSet };
  /** List what rules could match in unallocated costs */
  'GET /v1/rules/candidates': { query: { readonly from?: string; readonly to?: string; readonly limit?: number }; answer: RuleCandidates };
  /** How long samples are kept */
  'GET /v1/samples/retention': { answer: SampleRetention };
  /** Sources of GPU evidence that are read, and up to when */
  'GET /v1/samples/sources': { answer: { readonly items: readonly (TelemetrySource)[] } };
  /** List what actions saved, newest first */
  'GET /v1/savings': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly policy?: string; readonly state?: 'estimated' | 'measured' | 'verified' | 'unverifiable'; readonly from?: string; readonly to?: string }; answer: { readonly items: readonly (Saving)[]; readonly nextCursor: string | null; readonly totals: SavingTotals } };
  /** Get an action's saving, hour by hour, with the sources of each figure */
  'GET /v1/savings/{action}': { path: { readonly action: string }; query: { readonly limit?: number; readonly cursor?: string }; answer: SavingDetail };
  /** Find teams, budgets, targets, actions, recommendations and policy documents by id or name */
  'GET /v1/search': { query: { readonly words: string; readonly most?: number }; answer: Found };
  /** List who is signed in */
  'GET /v1/sessions': { query: { readonly limit?: number; readonly cursor?: string; readonly of?: string }; answer: { readonly items: readonly (StandingSession)[]; readonly nextCursor: string | null } };
  /** List the keys of Slack users */
  'GET /v1/slack-users': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (SlackUser)[]; readonly nextCursor: string | null } };
  /** Get what the kill switch stops */
  'GET /v1/stop': { answer: Stops };
  /** List teams */
  'GET /v1/teams': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (Team)[]; readonly nextCursor: string | null } };
  /** Get a team */
  'GET /v1/teams/{id}': { path: { readonly id: string }; answer: Team };
  /** List a team's leases */
  'GET /v1/teams/{id}/leases': { path: { readonly id: string }; answer: { readonly items: readonly (TeamLease)[] } };
  /** List measured throughputs, newest first */
  'GET /v1/throughput-measurements': { query: { readonly limit?: number; readonly cursor?: string; readonly team?: string; readonly model?: string }; answer: { readonly items: readonly (ThroughputMeasurement)[]; readonly nextCursor: string | null } };
  /** How much waits for a person */
  'GET /v1/waiting': { answer: Waiting };
  /** List parked work */
  'GET /v1/work': { query: { readonly limit?: number; readonly cursor?: string }; answer: { readonly items: readonly (ParkedWork)[]; readonly nextCursor: string | null } };
  /** How much work waits, as server-sent events */
  'GET /v1/work/progress': { answer: string };
  /** List the known metrics of workloads, with their newest values */
  'GET /v1/workload-metrics': { query: { readonly team?: string }; answer: { readonly items: readonly (NewestWorkloadMetric)[] } };
  /** Approve an action */
  'POST /v1/actions/{id}/approve': { path: { readonly id: string }; answer: Action };
  /** Reject an action that no provider has been asked for yet */
  'POST /v1/actions/{id}/reject': { path: { readonly id: string }; body: RejectAction; answer: Action };
  /** Roll an action back */
  'POST /v1/actions/{id}/rollback': { path: { readonly id: string }; body: RollbackAction; answer: Action };
  /** Mute alerts for a while */
  'POST /v1/alert-mutes': { body: MuteRequest; answer: Mute };
  /** Test whether alerts arrive */
  'POST /v1/alerts/test': { answer: { readonly test: string } };
  /** Acknowledge an alert */
  'POST /v1/alerts/{id}/acknowledge': { path: { readonly id: string }; answer: Alert };
  /** Run a policy over recorded history */
  'POST /v1/backtests': { body: BacktestOrder; answer: Backtest };
  /** What a configuration would change */
  'POST /v1/configuration/plan': { body: ConfigurationPlanRequest; answer: ConfigurationPlan };
  /** Save a question about costs */
  'POST /v1/cost-views': { body: CostViewSettings; answer: CostView };
  /** Import the files of a delivery together, and close it */
  'POST /v1/deliveries/{name}/commit': { path: { readonly name: string }; query: { readonly strict?: string; readonly dryRun?: string; readonly replace?: string }; body: Readonly<Record<string, never>> | null; answer: { readonly files: readonly (ImportedFile)[] } };
  /** Add a file to an open delivery */
  'POST /v1/deliveries/{name}/files': { path: { readonly name: string }; query: { readonly filename: string; readonly replace?: string }; body: unknown; answer: DeliveredFile };
  /** Import a bill or a file of usage */
  'POST /v1/imports': { query: { readonly strict?: string; readonly dryRun?: string; readonly filename: string; readonly format?: string; readonly source?: string; readonly replace?: string }; body: unknown; answer: { readonly files: readonly (ImportedFile)[] } };
  /** Undo a whole import */
  'POST /v1/imports/{id}/undo': { path: { readonly id: string }; answer: UndoneImport };
  /** Create a key */
  'POST /v1/keys': { body: KeyRequest; answer: CreatedKey };
  /** Give a key a new secret */
  'POST /v1/keys/{id}/rotate': { path: { readonly id: string }; body: KeyRotation; answer: CreatedKey };
  /** Move a lease's end */
  'POST /v1/leases/{id}/renew': { path: { readonly id: string }; body: LeaseRenewal; answer: Lease };
  /** End your own sessions except that of this request */
  'POST /v1/me/sessions/end': { answer: EndedSessions };
  /** Find the cheapest places for a workload */
  'POST /v1/placements': { body: PlacementRequest; answer: Placements };
  /** Check a policy document */
  'POST /v1/policies/validate': { body: PolicyDocument; answer: PolicyCheck };
  /** Pause a policy document */
  'POST /v1/policies/{name}/pause': { path: { readonly name: string }; answer: StoredPolicy };
  /** Resume a paused policy document */
  'POST /v1/policies/{name}/resume': { path: { readonly name: string }; answer: StoredPolicy };
  /** Import a price list */
  'POST /v1/prices': { query: { readonly strict?: string; readonly dryRun?: string; readonly filename: string; readonly format?: string; readonly source?: string }; body: unknown; answer: { readonly files: readonly (ImportedPrices)[] } };
  /** Restore the withdrawn statement of a price */
  'POST /v1/prices/{id}/restore': { path: { readonly id: string }; answer: PriceVersion };
  /** Withdraw the statement of a price */
  'POST /v1/prices/{id}/withdraw': { path: { readonly id: string }; answer: PriceVersion };
  /** Quote a run */
  'POST /v1/quotes': { body: QuoteRequest; answer: Quote };
  /** Approve a recommendation */
  'POST /v1/recommendations/{id}/approve': { path: { readonly id: string }; answer: Recommendation };
  /** Reject a recommendation */
  'POST /v1/recommendations/{id}/reject': { path: { readonly id: string }; answer: Recommendation };
  /** Withdraw a learned rate permanently */
  'POST /v1/reconciliation/rates/{id}/withdraw': { path: { readonly id: string }; answer: LearnedRate };
  /** Request a report */
  'POST /v1/reports': { body: ReportRequest; answer: ReportRequested };
  /** Reserve budget for a run */
  'POST /v1/reservations': { body: ReservationRequest; answer: Reservation };
  /** Preview each team's costs under other rules */
  'POST /v1/rules/preview': { body: RuleChange; answer: RulePreview };
  /** Send GPU samples */
  'POST /v1/samples': { body: SampleBatch; answer: SampleBatchResult };
  /** End all sessions of somebody */
  'POST /v1/sessions/end': { body: SessionsEnd; answer: EndedSessions };
  /** Stop all actions, of a team, or of a provider */
  'POST /v1/stop': { body: StopRequest; answer: Stops };
  /** Let actions continue */
  'POST /v1/stop/lift': { body: LiftRequest; answer: Stops };
  /** Add measured throughputs */
  'POST /v1/throughput-measurements': { body: ThroughputMeasurements; answer: { readonly accepted: number } };
  /** Predict a throughput, and the time and cost to finish */
  'POST /v1/throughput-predictions': { body: ThroughputQuestion; answer: ThroughputPrediction };
  /** Send usage */
  'POST /v1/usage': { query: { readonly strict?: string; readonly dryRun?: string; readonly source?: string }; body: UsageBatch; answer: UsageBatchResult };
  /** Send metrics of workloads */
  'POST /v1/workload-metrics': { body: WorkloadMetrics; answer: { readonly accepted: number } };
  /** Set what the admission webhook refuses */
  'PUT /v1/admission': { body: AdmissionSettings; answer: StoredAdmissionSettings };
  /** Set where alerts go */
  'PUT /v1/alert-routes': { body: AlertRoutes | StoredAlertRoutes; answer: StoredAlertRoutes };
  /** Add or change a budget */
  'PUT /v1/budgets/{id}': { path: { readonly id: string }; body: BudgetSettings | Budget; answer: Budget };
  /** Apply a configuration */
  'PUT /v1/configuration': { body: ConfigurationChange | StoredConfiguration; answer: ConfigurationPlan };
  /** Change a saved question */
  'PUT /v1/cost-views/{id}': { path: { readonly id: string }; body: CostViewSettings; answer: CostView };
  /** Replace all credits */
  'PUT /v1/credits': { body: Credits | CreditsView; answer: CreditsView };
  /** Open a delivery: files of one bill that are imported together */
  'PUT /v1/deliveries/{name}': { path: { readonly name: string }; body: DeliveryTerms; answer: Delivery };
  /** Add or correct exchange rates */
  'PUT /v1/fx': { body: FxRates; answer: FxChange };
  /** Give a lease, or replace its terms */
  'PUT /v1/leases/{id}': { path: { readonly id: string }; body: LeaseTerms; answer: Lease };
  /** Set the limits of actions */
  'PUT /v1/limits': { query: { readonly team?: string }; body: LimitsDocument | BindingLimits; answer: BindingLimits };
  /** Replace the peak schedule */
  'PUT /v1/peak': { body: PeakSchedule; answer: PeakSchedule };
  /** Apply a policy document */
  'PUT /v1/policies/{name}': { path: { readonly name: string }; body: PolicySettings | StoredPolicy; answer: StoredPolicy };
  /** Set whether learned rates are applied, the threshold of findings, and how long bills settle */
  'PUT /v1/reconciliation/settings': { body: ReconciliationSettings; answer: ReconciliationSettings };
  /** Set when monthly reports are made */
  'PUT /v1/reports/schedule': { body: ReportSchedule; answer: ReportSchedule };
  /** Set a custom role */
  'PUT /v1/roles/{name}': { path: { readonly name: string }; body: RoleRequest; answer: Role };
  /** Replace the allocation rules */
  'PUT /v1/rules': { body: RuleChange | RuleSet; answer: RuleSet };
  /** Set how long samples are kept */
  'PUT /v1/samples/retention': { body: SampleRetention; answer: SampleRetention };
  /** Give a Slack user the rights of a key */
  'PUT /v1/slack-users/{workspace}/{user}': { path: { readonly user: string; readonly workspace: string }; body: ConnectSlackUser; answer: SlackUser };
  /** Add or change a team */
  'PUT /v1/teams/{id}': { path: { readonly id: string }; body: TeamSettings | Team; answer: Team };
}

/** No answer of Bursar: the message names the address and the cause. */
export class BursarError extends Error {
  override readonly name: string = 'BursarError';
}

/** A request that the API refused: every problem is named. */
export class BursarProblem extends BursarError {
  override readonly name = 'BursarProblem';

  constructor(
    message: string,
    readonly status: number,
    readonly problems: readonly { readonly path: string | null; readonly message: string }[],
  ) {
    super(message);
  }
}

type Route = keyof Operations;
type Part<R extends Route, Name extends string> = Operations[R] extends Readonly<Record<Name, infer T>> ? T : never;
type Given<R extends Route, Name extends string> = Name extends keyof Operations[R]
  ? Record<never, never> extends Part<R, Name>
    ? { readonly [K in Name]?: Part<R, Name> }
    : { readonly [K in Name]: Part<R, Name> }
  : unknown;
export type Input<R extends Route> = Given<R, 'path'> & Given<R, 'query'> & Given<R, 'body'>;
export type Answer<R extends Route> = Operations[R]['answer'];

interface Parts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export interface BursarOptions {
  /** `https://bursar.example.com` */
  readonly url: string;
  readonly apiKey: string;
}

export class Bursar {
  /** @throws BursarError for an address or a key that cannot be one */
  constructor(private readonly options: BursarOptions) {
    if (!URL.canParse(options.url)) throw new BursarError(`${options.url} is no address: https://bursar.example.com is`);
    if (!/^[\x21-\x7e]*$/.test(options.apiKey)) throw new BursarError('the API key holds a character that no key has');
  }

  /**
   * The answer: JSON as it reads, text as text (JSON lines too), and any other file (PDF, XLSX, PNG) as its bytes.
   * `call('PUT /v1/teams/{id}', { path: { id: 'red' }, body: { name: 'Red' } })`
   * @throws BursarProblem for an answer that is no success, BursarError where none comes
   */
  async call<R extends Route>(route: R, input: Input<R>): Promise<Answer<R>> {
    const { path = {}, query = {}, body } = input as Parts;
    const [method = '', pattern = ''] = route.split(' ');
    const address = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
    const url = new URL(this.options.url.replace(/\/$/, '') + address);
    for (const [name, value] of Object.entries(query))
      for (const one of Array.isArray(value) ? (value as unknown[]) : [value])
        if (one !== undefined && one !== null) url.searchParams.append(name, String(one));
    const request = {
      method,
      redirect: 'error' as const,
      headers: {
        authorization: `Bearer ${this.options.apiKey}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(method === 'GET' ? {} : { 'idempotency-key': crypto.randomUUID() }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const { response, bytes } = await answered(url, request);
    const media = response.headers.get('content-type') ?? '';
    const text = (): string => new TextDecoder().decode(bytes);
    if (!response.ok) throw problemOf(response.status, text());
    if (/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(media))
      return parsed(text(), `${url.origin} answered ${route}`) as Answer<R>;
    const isText = media === '' || /^(text\/|image\/svg\+xml|application\/x-ndjson)/i.test(media);
    return (isText ? text() : bytes) as Answer<R>;
  }
}

async function answered(url: URL, request: RequestInit): Promise<{ response: Response; bytes: Uint8Array }> {
  try {
    const response = await fetch(url, request);
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
  } catch (error) {
    // fetch says only that it failed; why stands in the cause.
    const { code, message } = ((error as Error).cause ?? error) as { code?: string; message?: string };
    throw new BursarError(`${url.origin} cannot be reached: ${message || code || 'no reason given'}`, { cause: error });
  }
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BursarError(`${what} with something that is not JSON`, { cause: error });
  }
}

function problemOf(status: number, text: string): BursarProblem {
  try {
    const { detail, title, problems } = JSON.parse(text) as Problem;
    return new BursarProblem(detail ?? title ?? `status ${status}`, status, problems ?? []);
  } catch {
    return new BursarProblem(`status ${status}`, status, []);
  }
}
