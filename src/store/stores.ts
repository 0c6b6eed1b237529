/**
 * Everything that reads and writes the database, made once per process from one pool.
 */
import { AuditStore } from './audit.js';
import { BudgetStore } from './budgets.js';
import { CostStore } from './costs.js';
import { CreditStore } from './credits.js';
import type { Database } from './database.js';
import { Dimensions } from './dimensions.js';
import { HealthFindingStore } from './health-findings.js';
import { HealthStore } from './health.js';
import { Idempotency } from './idempotency.js';
import { Intake } from './intake.js';
import { KeyStore } from './keys.js';
import { OrganisationStore } from './organisation.js';
import { PolicyStore } from './policies.js';
import { PriceStore } from './prices.js';
import { RawStore } from './raw.js';
import { RecommendationStore } from './recommendations.js';
import { RejectStore } from './rejects.js';
import { SampleStore } from './samples.js';
import { ShareStore } from './shares.js';
import { SpendStore } from './spend.js';
import { ViewStore } from './views.js';
import { WorkTable } from './work.js';
import { WorkloadStore } from './workloads.js';

export class Stores {
  readonly dimensions = new Dimensions();
  readonly intake: Intake;
  readonly raw: RawStore;
  readonly prices: PriceStore;
  readonly organisations = new OrganisationStore();
  readonly costs: CostStore;
  readonly shares = new ShareStore();
  readonly credits: CreditStore;
  readonly spend: SpendStore;
  readonly budgets: BudgetStore;
  readonly recommendations: RecommendationStore;
  readonly rejects: RejectStore;
  readonly policies = new PolicyStore();
  readonly workloads = new WorkloadStore();
  readonly samples = new SampleStore();
  readonly healthFindings = new HealthFindingStore();
  readonly views: ViewStore;
  readonly keys: KeyStore;
  readonly idempotency: Idempotency;
  readonly audit: AuditStore;
  readonly health: HealthStore;
  readonly work: WorkTable;

  constructor(readonly db: Database) {
    this.intake = new Intake(db, this.dimensions);
    this.raw = new RawStore(db, this.dimensions);
    this.prices = new PriceStore(db);
    this.costs = new CostStore(this.dimensions);
    this.credits = new CreditStore(this.organisations, this.dimensions);
    this.spend = new SpendStore(db, this.dimensions);
    this.budgets = new BudgetStore(db);
    this.views = new ViewStore(this.budgets, this.workloads, this.healthFindings);
    this.recommendations = new RecommendationStore(db);
    this.rejects = new RejectStore(db);
    this.keys = new KeyStore(db);
    this.idempotency = new Idempotency(db);
    this.audit = new AuditStore(db);
    this.health = new HealthStore(db);
    this.work = new WorkTable(db);
  }
}
