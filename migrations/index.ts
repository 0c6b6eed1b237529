/** The migrations in the order in which they run. A new one is added at the end and never edited after a release. */
import { Foundation1764000000001 } from './0001-foundation.js';
import { Policies1764000000002 } from './0002-policies.js';
import { Actions1764000000003 } from './0003-actions.js';
import { Savings1764000000004 } from './0004-savings.js';
import { Reconciliation1764000000005 } from './0005-reconciliation.js';
import { Quotes1764000000006 } from './0006-quotes.js';
import { Telemetry1764000000007 } from './0007-telemetry.js';
import { Telling1764000000008 } from './0008-telling.js';
import { Fleet1764000000009 } from './0009-fleet.js';
import { Sessions1764000000010 } from './0010-sessions.js';
import { Reports1764000000011 } from './0011-reports.js';
import { Backtests1764000000012 } from './0012-backtests.js';
import { Wakers1764000000013 } from './0013-wakers.js';
import { BillCells1764000000014 } from './0014-bill-cells.js';
import { Admissions1764000000015 } from './0015-admissions.js';
import { Witnesses1764000000016 } from './0016-witnesses.js';
import { CountedOnce1764000000017 } from './0017-counted-once.js';
import { RemainingHolds1764000000018 } from './0018-remaining-holds.js';
import { RecordedJobs1764000000019 } from './0019-recorded-jobs.js';
import { Measurements1764000000020 } from './0020-measurements.js';
import { BillStates1764000000021 } from './0021-bill-states.js';
import { UnmeteredLines1764000000022 } from './0022-unmetered-lines.js';
import { PriceStatements1764000000023 } from './0023-price-statements.js';
import { CorrectedUsage1764000000024 } from './0024-corrected-usage.js';
import { DatedBills1764000000025 } from './0025-dated-bills.js';
import { ToldAgain1764000000026 } from './0026-told-again.js';
import { TypedRecommendations1764000000027 } from './0027-typed-recommendations.js';
import { BillParts1764000000028 } from './0028-bill-parts.js';
import { WhoPaused1764000000029 } from './0029-who-paused.js';
import { Leases1764000000031 } from './0031-leases.js';
import { EvidenceMeetsTheFleet1764000000032 } from './0032-evidence-meets-the-fleet.js';
import { StandingObstacles1764000000033 } from './0033-standing-obstacles.js';
import { LateLines1764000000034 } from './0034-late-lines.js';
import { Contracts1764000000035 } from './0035-contracts.js';
import { TeamLooks1764000000036 } from './0036-team-looks.js';
import { StartedTargets1764000000038 } from './0038-started-targets.js';
import { AccountKeys1764000000040 } from './0040-account-keys.js';
import { Scopes1764000000042 } from './0042-scopes.js';
import { AuditChain1764000000043 } from './0043-audit-chain.js';
import { PackedSamples1764000000044 } from './0044-packed-samples.js';
import { Supplements1764000000047 } from './0047-supplements.js';
import { LackingParts1764000000050 } from './0050-lacking-parts.js';
import { WatchedSessions1764000000053 } from './0053-watched-sessions.js';
import { Directory1764000000054 } from './0054-directory.js';
import { OneOrganisation1764000000055 } from './0055-one-organisation.js';
import { CostViews1764000000057 } from './0057-cost-views.js';
import { ConfirmedBills1764000000058 } from './0058-confirmed-bills.js';
import { CivilDays1764000000059 } from './0059-civil-days.js';
import { StatedLists1764000000060 } from './0060-stated-lists.js';
import { AnsweringSince1764000000062 } from './0062-answering-since.js';
import { MeasuredGpus1764000000063 } from './0063-measured-gpus.js';
import { PausedSince1764000000065 } from './0065-paused-since.js';
import { MergedDeliveries1764000000066 } from './0066-merged-deliveries.js';
import { DatabaseHome1764000000068 } from './0068-database-home.js';
import { Archive1764000000069 } from './0069-archive.js';
import { AuditStream1764000000074 } from './0074-audit-stream.js';
import { ClaimedRequests1764000000075 } from './0075-claimed-requests.js';
import { PackedMinutes1764000000077 } from './0077-packed-minutes.js';
import { AuditCheckpoints1764000000078 } from './0078-audit-checkpoints.js';
import { DefinerPaths1764000000083 } from './0083-definer-paths.js';
import { PolicyAuthors1764000000084 } from './0084-policy-authors.js';
import { DroppedDays1764000000085 } from './0085-dropped-days.js';
import { DirectoryNames1764000000086 } from './0086-directory-names.js';
import { MutesBySeverity1764000000087 } from './0087-mutes-by-severity.js';
import { SpendSums1764000000088 } from './0088-spend-sums.js';
import { DaysOfAllTeams1764000000089 } from './0089-days-of-all-teams.js';
import { NotesByTheirSchema1764000000090 } from './0090-notes-by-their-schema.js';
import { DividedByRules1764000000091 } from './0091-divided-by-rules.js';
import { ZonesAsked1764000000092 } from './0092-zones-asked.js';
import { LinesOfAllTeams1764000000093 } from './0093-lines-of-all-teams.js';
import { BillsByDay1764000000094 } from './0094-bills-by-day.js';
import { TotalsByHour1764000000095 } from './0095-totals-by-hour.js';

export const migrations = [
  Foundation1764000000001,
  Policies1764000000002,
  Actions1764000000003,
  Savings1764000000004,
  Reconciliation1764000000005,
  Quotes1764000000006,
  Telemetry1764000000007,
  Telling1764000000008,
  Fleet1764000000009,
  Sessions1764000000010,
  Reports1764000000011,
  Backtests1764000000012,
  Wakers1764000000013,
  BillCells1764000000014,
  Admissions1764000000015,
  Witnesses1764000000016,
  CountedOnce1764000000017,
  RemainingHolds1764000000018,
  RecordedJobs1764000000019,
  Measurements1764000000020,
  BillStates1764000000021,
  UnmeteredLines1764000000022,
  PriceStatements1764000000023,
  CorrectedUsage1764000000024,
  DatedBills1764000000025,
  ToldAgain1764000000026,
  TypedRecommendations1764000000027,
  BillParts1764000000028,
  WhoPaused1764000000029,
  Leases1764000000031,
  EvidenceMeetsTheFleet1764000000032,
  StandingObstacles1764000000033,
  LateLines1764000000034,
  Contracts1764000000035,
  TeamLooks1764000000036,
  StartedTargets1764000000038,
  AccountKeys1764000000040,
  Scopes1764000000042,
  AuditChain1764000000043,
  PackedSamples1764000000044,
  Supplements1764000000047,
  LackingParts1764000000050,
  WatchedSessions1764000000053,
  Directory1764000000054,
  OneOrganisation1764000000055,
  CostViews1764000000057,
  ConfirmedBills1764000000058,
  CivilDays1764000000059,
  StatedLists1764000000060,
  AnsweringSince1764000000062,
  MeasuredGpus1764000000063,
  PausedSince1764000000065,
  MergedDeliveries1764000000066,
  DatabaseHome1764000000068,
  Archive1764000000069,
  AuditStream1764000000074,
  ClaimedRequests1764000000075,
  PackedMinutes1764000000077,
  AuditCheckpoints1764000000078,
  DefinerPaths1764000000083,
  PolicyAuthors1764000000084,
  DroppedDays1764000000085,
  DirectoryNames1764000000086,
  MutesBySeverity1764000000087,
  SpendSums1764000000088,
  DaysOfAllTeams1764000000089,
  NotesByTheirSchema1764000000090,
  DividedByRules1764000000091,
  ZonesAsked1764000000092,
  LinesOfAllTeams1764000000093,
  BillsByDay1764000000094,
  TotalsByHour1764000000095,
];
