/**
 * The REST API as one module: reads through the stores, writes intents through them, and never does the line's work.
 */
import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { z } from 'zod';
import { endpointsOf, type DescribedEndpoint } from './endpoint.js';
import { openApiOf, type OpenApiDocument } from './openapi.js';
import { WEB_PARTS, type WebParts } from './parts.js';
import { ProblemFilter, validation } from './problem.js';
import { ActionsController } from './resources/actions.js';
import { AdmissionController } from './resources/admission.js';
import { AdmissionsController } from './resources/admissions.js';
import { BacktestsController } from './resources/backtests.js';
import { AlertsController } from './resources/alerts.js';
import { AlertSettingsController } from './resources/alert-settings.js';
import { BudgetsController } from './resources/budgets.js';
import { CommitmentsController } from './resources/commitments.js';
import { CostBreakdownController } from './resources/cost-breakdown.js';
import { CostViewsController } from './resources/cost-views.js';
import { ConfigurationController } from './resources/configuration.js';
import { CostsController } from './resources/costs.js';
import { DashboardController } from './resources/dashboard.js';
import { DeliveriesController } from './resources/deliveries.js';
import { DocsController, OPEN_API } from './resources/docs.js';
import { FleetController } from './resources/fleet.js';
import { FxController } from './resources/fx.js';
import { ExplainController } from './resources/explain.js';
import { HealthFindingsController } from './resources/health-findings.js';
import { ImportsController } from './resources/imports.js';
import { KeysController } from './resources/keys.js';
import { LocalFilesController } from './resources/local-files.js';
import { MeasurementsController } from './resources/measurements.js';
import { OperationsController } from './resources/operations.js';
import { CreditsController } from './resources/credits.js';
import { LeasesController } from './resources/leases.js';
import { PeakController } from './resources/peak.js';
import { PoliciesController } from './resources/policies.js';
import { PricesController } from './resources/prices.js';
import { ProcessController } from './resources/process.js';
import { ProgressController } from './resources/progress.js';
import { QuotesController } from './resources/quotes.js';
import { ReconciliationController } from './resources/reconciliation.js';
import { RecommendationsController } from './resources/recommendations.js';
import { ReservationsController } from './resources/reservations.js';
import { ReportsController } from './resources/reports.js';
import { RolesController } from './resources/roles.js';
import { RulesController } from './resources/rules.js';
import { SafetyController } from './resources/safety.js';
import { SamplesController } from './resources/samples.js';
import { SavingsController } from './resources/savings.js';
import { SearchController } from './resources/search.js';
import { ScimController } from './resources/scim.js';
import { SessionController } from './resources/session.js';
import { SessionsController } from './resources/sessions.js';
import { OverviewController } from './resources/overview.js';
import { SlackController } from './resources/slack.js';
import { TeamsController } from './resources/teams.js';
import { WorkloadMetricsController } from './resources/workload-metrics.js';
import { UsageController } from './resources/usage.js';

export const CONTROLLERS: readonly Type[] = [
  UsageController,
  ImportsController,
  PricesController,
  FxController,
  PeakController,
  CreditsController,
  LeasesController,
  MeasurementsController,
  CostsController,
  CostBreakdownController,
  CostViewsController,
  ReconciliationController,
  CommitmentsController,
  DeliveriesController,
  QuotesController,
  ReservationsController,
  TeamsController,
  RulesController,
  BudgetsController,
  FleetController,
  SamplesController,
  WorkloadMetricsController,
  HealthFindingsController,
  ExplainController,
  RecommendationsController,
  ActionsController,
  SavingsController,
  ReportsController,
  SafetyController,
  PoliciesController,
  ConfigurationController,
  BacktestsController,
  KeysController,
  RolesController,
  SessionsController,
  ScimController,
  AdmissionController,
  AdmissionsController,
  OperationsController,
  ProcessController,
  DocsController,
  AlertsController,
  AlertSettingsController,
  SlackController,
  OverviewController,
  SearchController,
  ProgressController,
  SessionController,
  DashboardController,
];

const VERSION = '0.1.0';

export const endpoints = (): DescribedEndpoint[] => endpointsOf(CONTROLLERS);

/** The API's description; `recordSchemas` describe an item of a usage batch. */
export function describeApi({ recordSchemas }: Pick<WebParts, 'recordSchemas'>): OpenApiDocument {
  return openApiOf(
    endpoints(),
    VERSION,
    recordSchemas === undefined ? {} : { UsageItem: z.union([recordSchemas.record, recordSchemas.event]) },
  );
}

@Module({})
export class WebModule {
  /** The routes for an orchestrator and Prometheus in a process without an API, and nothing else. */
  static probes(parts: Pick<WebParts, 'stores' | 'importer' | 'clock' | 'policies' | 'tick'>): DynamicModule {
    return {
      module: WebModule,
      controllers: [ProcessController],
      providers: [
        { provide: WEB_PARTS, useValue: parts },
        { provide: APP_FILTER, useValue: new ProblemFilter() },
        { provide: APP_PIPE, useValue: validation },
      ],
    };
  }

  static register(parts: WebParts): DynamicModule {
    const isInProcess = parts.administrator !== undefined;
    return {
      module: WebModule,
      controllers: [...CONTROLLERS, ...(isInProcess ? [LocalFilesController] : [])],
      providers: [
        { provide: WEB_PARTS, useValue: parts },
        { provide: OPEN_API, useValue: () => describeApi(parts) },
        { provide: APP_FILTER, useValue: new ProblemFilter(isInProcess) },
        { provide: APP_PIPE, useValue: validation },
      ],
    };
  }
}
