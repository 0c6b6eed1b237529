/**
 * All stores, created once per process from one pool.
 */
import { ActionStore } from './action/actions.js';
import { AdmissionStore } from './budget/admissions.js';
import { AlertPlaceStore } from './alert/places.js';
import { AlertSettings } from './alert/settings.js';
import { AlertStore } from './alert/alerts.js';
import { AnomalyStore } from './alert/anomalies.js';
import { ArchiveStore } from './usage/archiving.js';
import { AuditStore } from './audit.js';
import { AuditStreamStore } from './audit-stream.js';
import { BacktestStore } from './policy/backtests.js';
import { BillCellStore } from './bill/cells.js';
import { BudgetStore } from './budget/budgets.js';
import { CollectionStore } from './operation/collections.js';
import { CountingStore } from './bill/counting.js';
import { UnmeteredStore } from './bill/unmetered.js';
import { CostStore } from './cost/costs.js';
import { CostViewStore } from './cost/views.js';
import { CreditStore } from './cost/credits.js';
import type { Database } from './database.js';
import { DeliveryStore } from './usage/deliveries.js';
import { Dimensions } from './usage/dimensions.js';
import { FleetStore } from './fleet/fleet.js';
import { HealthFindingStore } from './fleet/health-findings.js';
import { GaugeStore } from './operation/gauges.js';
import { HealthStore } from './operation/health.js';
import { HomeStore, type HomeOptions } from './operation/home.js';
import { Idempotency } from './idempotency.js';
import { Intake } from './usage/intake.js';
import { KeyStore } from './access/keys.js';
import { RoleStore } from './access/roles.js';
import { LeaseStore } from './workload/leases.js';
import { LearnedRateStore } from './price/learned-rates.js';
import { MeasuredStore } from './fleet/measured.js';
import { MeasurementStore } from './workload/measurements.js';
import { MergeStore } from './usage/merging.js';
import { OrganisationStore } from './access/organisation.js';
import { PolicyStore } from './policy/policies.js';
import { PriceStore } from './price/prices.js';
import { QuoteStore } from './price/quotes.js';
import { RawStore } from './usage/raw.js';
import { RecommendationStore } from './policy/recommendations.js';
import { ReconciliationStore } from './bill/reconciliation.js';
import { RejectStore } from './usage/rejects.js';
import { ReadSide, type ReplicaAddress } from './reading.js';
import { ReportStore } from './report/reports.js';
import { ResourceCostStore } from './cost/resources.js';
import { ReservationPods } from './budget/reservation-pods.js';
import { ReservationStore } from './budget/reservations.js';
import { SampleStore } from './fleet/samples.js';
import { SafetyStore } from './action/safety.js';
import { SavingEvidence } from './saving/evidence.js';
import { SavingLedger } from './saving/ledger.js';
import { SavingStore } from './saving/savings.js';
import { DirectoryStore } from './access/directory.js';
import { SessionList } from './access/session-list.js';
import { SessionStore } from './access/sessions.js';
import { ShareStore } from './cost/shares.js';
import { SpendSumStore } from './cost/sums.js';
import { SlackDesk } from './alert/slack-desk.js';
import { SpendStore } from './cost/spend.js';
import { NO_TARGETS, type TargetFinder } from './action/targets.js';
import { TidyingStore } from './operation/tidying.js';
import { VarianceStore } from './bill/variances.js';
import { ViewStore } from './policy/views.js';
import { WorkTable } from './work.js';
import { WorkloadStore } from './workload/workloads.js';

export class Stores {
  readonly dimensions = new Dimensions();
  readonly intake: Intake;
  readonly deliveries: DeliveryStore;
  readonly archives: ArchiveStore;
  readonly raw: RawStore;
  readonly prices: PriceStore;
  readonly organisations = new OrganisationStore();
  readonly merging = new MergeStore(this.organisations);
  readonly costs: CostStore;
  readonly resourceCosts = new ResourceCostStore(this.organisations, this.dimensions);
  readonly costViews = new CostViewStore();
  readonly shares = new ShareStore();
  readonly credits: CreditStore;
  readonly spend: SpendStore;
  readonly spendSums = new SpendSumStore();
  readonly budgets: BudgetStore;
  readonly quotes: QuoteStore;
  readonly reservations: ReservationStore;
  readonly admissions: AdmissionStore;
  readonly reservationPods: ReservationPods;
  readonly recommendations: RecommendationStore;
  readonly actions: ActionStore;
  readonly safety: SafetyStore;
  readonly savings = new SavingStore();
  readonly savingLedger: SavingLedger;
  readonly reports: ReportStore;
  readonly savingEvidence = new SavingEvidence();
  readonly learnedRates = new LearnedRateStore(this.organisations);
  readonly counting = new CountingStore(this.organisations);
  readonly unmetered = new UnmeteredStore();
  readonly billCells = new BillCellStore();
  readonly reconciliation: ReconciliationStore;
  readonly variances: VarianceStore;
  readonly alerts: AlertStore;
  readonly alertPlaces = new AlertPlaceStore();
  readonly alertSettings = new AlertSettings(this.organisations);
  readonly anomalies: AnomalyStore;
  readonly slackDesk = new SlackDesk();
  readonly rejects: RejectStore;
  readonly policies = new PolicyStore();
  readonly backtests = new BacktestStore();
  readonly workloads = new WorkloadStore();
  readonly measurements = new MeasurementStore();
  readonly leases = new LeaseStore();
  readonly fleet = new FleetStore();
  readonly collections = new CollectionStore();
  readonly samples = new SampleStore();
  readonly measured = new MeasuredStore();
  readonly healthFindings = new HealthFindingStore();
  readonly views: ViewStore;
  readonly keys: KeyStore;
  readonly roles: RoleStore;
  readonly sessions: SessionStore;
  readonly sessionList: SessionList;
  readonly directory: DirectoryStore;
  readonly idempotency: Idempotency;
  readonly audit: AuditStore;
  readonly auditStream: AuditStreamStore;
  readonly health: HealthStore;
  readonly gauges: GaugeStore;
  readonly home: HomeStore;
  readonly tidying = new TidyingStore();
  readonly work: WorkTable;
  readonly reading: ReadSide;

  /**
   * @param targets where recommendations' targets are; without it no recommendation becomes an action
   * @param home by what a restored database is known, apart from what it knows itself
   */
  constructor(
    readonly db: Database,
    readonly targets: TargetFinder = NO_TARGETS,
    home: HomeOptions = { folder: null, standbyIsWhole: false },
    replica: ReplicaAddress | null = null,
  ) {
    this.reading = new ReadSide(db, replica);
    this.home = new HomeStore(home);
    this.intake = new Intake(db, this.dimensions, this.counting);
    this.deliveries = new DeliveryStore(db);
    this.archives = new ArchiveStore(db);
    this.raw = new RawStore(this.dimensions);
    this.prices = new PriceStore(db);
    this.costs = new CostStore(this.dimensions);
    this.credits = new CreditStore(this.organisations, this.dimensions, this.prices);
    this.spend = new SpendStore(db, this.dimensions);
    this.budgets = new BudgetStore(db);
    this.quotes = new QuoteStore(this.prices, this.organisations, this.learnedRates);
    this.reservations = new ReservationStore(db, this.organisations);
    this.admissions = new AdmissionStore(db);
    this.reservationPods = new ReservationPods(db);
    this.views = new ViewStore(this.budgets, this.workloads, this.measurements, this.healthFindings);
    this.recommendations = new RecommendationStore(db);
    this.actions = new ActionStore(db);
    this.safety = new SafetyStore(this.organisations, this.policies);
    this.savingLedger = new SavingLedger(db);
    this.reports = new ReportStore(db, this);
    this.reconciliation = new ReconciliationStore(this.organisations, this.dimensions);
    this.variances = new VarianceStore(db);
    this.alerts = new AlertStore(db);
    this.anomalies = new AnomalyStore(db);
    this.rejects = new RejectStore(db);
    this.keys = new KeyStore(db);
    this.roles = new RoleStore(db);
    this.sessions = new SessionStore(db);
    this.sessionList = new SessionList(db);
    this.directory = new DirectoryStore(db);
    this.idempotency = new Idempotency(db);
    this.audit = new AuditStore(db);
    this.auditStream = new AuditStreamStore(db);
    this.health = new HealthStore(db);
    this.gauges = new GaugeStore(db);
    this.work = new WorkTable(db);
  }
}
