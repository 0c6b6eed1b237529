"""A client of Bursar's API. Made of docs/reference/openapi.json: tests/unit/docs/openapi.test.ts compares it, BURSAR_WRITE_DOCS=1 writes it anew."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
import uuid


class BursarError(Exception):
    """No answer of Bursar: the message names the address and the cause."""


class BursarProblem(BursarError):
    """A request that the API refused: every problem is named."""

    def __init__(self, message, status, problems):
        super().__init__(message)
        self.status = status
        self.problems = problems


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to the address that was named, and to no other."""

    def redirect_request(self, *_):
        return None


def _quote(text):
    return urllib.parse.quote(str(text), safe="")


def _problem_of(error):
    try:
        told = json.loads(error.read().decode())
    except ValueError:
        told = {}
    message = told.get("detail") or told.get("title") or f"status {error.code}"
    return BursarProblem(message, error.code, told.get("problems") or [])


class Bursar:
    """Amounts are decimal strings: decimal.Decimal reads them."""

    def __init__(self, url, api_key, timeout=300):
        if not all("!" <= letter <= "~" for letter in api_key):
            raise BursarError("the API key holds a character that no key has")
        if not url.startswith(("http://", "https://")):
            raise BursarError(f"{url} is no address: https://bursar.example.com is")
        self._url = url.rstrip("/")
        self._api_key = api_key
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirect)

    def call(self, method, path, query=None, body=None):
        """The answer: JSON as it reads, text as text (JSON lines too), and any other file (PDF, XLSX, PNG) as bytes.

        Raises BursarProblem for an answer that is no success, BursarError where none comes.
        """
        given = {}
        for name, value in (query or {}).items():
            if value is not None:
                given[name] = str(value).lower() if isinstance(value, bool) else value
        text = urllib.parse.urlencode(given, doseq=True)
        request = urllib.request.Request(f"{self._url}{path}{'?' + text if text else ''}", method=method)
        request.add_header("authorization", f"Bearer {self._api_key}")
        request.add_header("accept", "application/json")
        if method != "GET":
            request.add_header("idempotency-key", str(uuid.uuid4()))
        if body is not None:
            request.add_header("content-type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer = response.read()
                media = (response.headers.get("content-type") or "").split(";")[0].strip().lower()
                is_json = media == "application/json" or media.endswith("+json")
                if is_json:
                    return json.loads(answer)
                is_text = media.startswith("text/") or media in ("", "image/svg+xml", "application/x-ndjson")
                return answer.decode() if is_text else answer
        except urllib.error.HTTPError as error:
            raise _problem_of(error) from None
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", None) or error
            raise BursarError(f"{self._url} cannot be reached: {cause or type(cause).__name__}") from error
        except ValueError as error:
            raise BursarError(f"{self._url} answered {method} {path} with something that is not JSON") from error


    def alert_settings_unmute(self, id):
        """Lift a mute"""
        return self.call("DELETE", f"/v1/alert-mutes/{_quote(id)}", query={})

    def budgets_remove(self, id):
        """Remove a budget"""
        return self.call("DELETE", f"/v1/budgets/{_quote(id)}", query={})

    def cost_views_remove(self, id):
        """Remove a saved question"""
        return self.call("DELETE", f"/v1/cost-views/{_quote(id)}", query={})

    def deliveries_discard(self, name):
        """Discard an open delivery and its files"""
        return self.call("DELETE", f"/v1/deliveries/{_quote(name)}", query={})

    def keys_revoke(self, id):
        """Revoke a key"""
        return self.call("DELETE", f"/v1/keys/{_quote(id)}", query={})

    def leases_end(self, id):
        """End a lease"""
        return self.call("DELETE", f"/v1/leases/{_quote(id)}", query={})

    def sessions_end_own(self, id):
        """End one of your own sessions"""
        return self.call("DELETE", f"/v1/me/sessions/{_quote(id)}", query={})

    def reservations_release(self, id):
        """Release a reservation"""
        return self.call("DELETE", f"/v1/reservations/{_quote(id)}", query={})

    def roles_remove(self, name):
        """Remove a custom role"""
        return self.call("DELETE", f"/v1/roles/{_quote(name)}", query={})

    def sessions_end(self, id):
        """End anybody's session"""
        return self.call("DELETE", f"/v1/sessions/{_quote(id)}", query={})

    def alert_settings_disconnect(self, workspace, user):
        """Take its rights from a Slack user"""
        return self.call("DELETE", f"/v1/slack-users/{_quote(workspace)}/{_quote(user)}", query={})

    def teams_remove(self, id):
        """Remove a team"""
        return self.call("DELETE", f"/v1/teams/{_quote(id)}", query={})

    def measurements_remove(self, id):
        """Remove a measured throughput"""
        return self.call("DELETE", f"/v1/throughput-measurements/{_quote(id)}", query={})

    def actions_list(self, *, limit=None, cursor=None, team=None, state=None):
        """List actions, newest first"""
        return self.call("GET", f"/v1/actions", query={"limit": limit, "cursor": cursor, "team": team, "state": state})

    def actions_get(self, id):
        """Get an action with its timeline and its proof"""
        return self.call("GET", f"/v1/actions/{_quote(id)}", query={})

    def admission_get(self):
        """Get what the admission webhook refuses"""
        return self.call("GET", f"/v1/admission", query={})

    def admissions_list(self, *, limit=None, cursor=None, team=None, from_=None, to=None):
        """List refused and warned launches"""
        return self.call("GET", f"/v1/admissions", query={"limit": limit, "cursor": cursor, "team": team, "from": from_, "to": to})

    def alert_settings_mutes(self, *, limit=None, cursor=None):
        """List the mutes"""
        return self.call("GET", f"/v1/alert-mutes", query={"limit": limit, "cursor": cursor})

    def alert_settings_routes(self):
        """Get where alerts go"""
        return self.call("GET", f"/v1/alert-routes", query={})

    def alerts_list(self, *, limit=None, cursor=None, team=None, kind=None, state=None):
        """List alerts, newest first"""
        return self.call("GET", f"/v1/alerts", query={"limit": limit, "cursor": cursor, "team": team, "kind": kind, "state": state})

    def alerts_get(self, id):
        """Get an alert with its deliveries"""
        return self.call("GET", f"/v1/alerts/{_quote(id)}", query={})

    def alerts_anomalies(self, *, limit=None, cursor=None, team=None):
        """List unusual spend and prices, newest first"""
        return self.call("GET", f"/v1/anomalies", query={"limit": limit, "cursor": cursor, "team": team})

    def operations_audit(self, *, limit=None, cursor=None, actor=None, verb=None, target=None, from_=None, to=None):
        """List what was done, newest first"""
        return self.call("GET", f"/v1/audit", query={"limit": limit, "cursor": cursor, "actor": actor, "verb": verb, "target": target, "from": from_, "to": to})

    def operations_export(self, *, after=None, limit=None):
        """Entries in the order of their chain, one JSON object per line"""
        return self.call("GET", f"/v1/audit/export", query={"after": after, "limit": limit})

    def operations_verify(self, *, head=None):
        """Check that the audit is whole and unchanged"""
        return self.call("GET", f"/v1/audit/verification", query={"head": head})

    def backtests_list(self, *, limit=None, cursor=None):
        """List backtests, newest first"""
        return self.call("GET", f"/v1/backtests", query={"limit": limit, "cursor": cursor})

    def backtests_get(self, id):
        """Get a backtest, with its report once it is done"""
        return self.call("GET", f"/v1/backtests/{_quote(id)}", query={})

    def backtests_events(self, id):
        """Progress of a backtest, as server-sent events"""
        return self.call("GET", f"/v1/backtests/{_quote(id)}/events", query={})

    def backtests_png(self, id):
        """A finished backtest's picture, PNG"""
        return self.call("GET", f"/v1/backtests/{_quote(id)}/plot.png", query={})

    def backtests_svg(self, id):
        """A finished backtest's picture, SVG"""
        return self.call("GET", f"/v1/backtests/{_quote(id)}/plot.svg", query={})

    def overview_states(self, *, limit=None, cursor=None, team=None):
        """List the state of budgets in their newest evaluated periods"""
        return self.call("GET", f"/v1/budget-states", query={"limit": limit, "cursor": cursor, "team": team})

    def budgets_list(self, *, limit=None, cursor=None):
        """List budgets"""
        return self.call("GET", f"/v1/budgets", query={"limit": limit, "cursor": cursor})

    def budgets_get(self, id):
        """Get a budget"""
        return self.call("GET", f"/v1/budgets/{_quote(id)}", query={})

    def overview_burn_down(self, id):
        """What a budget covers, day by day of its period"""
        return self.call("GET", f"/v1/budgets/{_quote(id)}/burn-down", query={})

    def budgets_periods(self, id, *, limit=None, cursor=None):
        """List the evaluated periods of a budget, newest first, with the result of each"""
        return self.call("GET", f"/v1/budgets/{_quote(id)}/periods", query={"limit": limit, "cursor": cursor})

    def budgets_state(self, id):
        """Get the state of a budget in its newest evaluated period"""
        return self.call("GET", f"/v1/budgets/{_quote(id)}/state", query={})

    def commitments_report(self, *, from_=None, to=None):
        """Utilisation and coverage of commitments, and what was applied to contracts, from bills"""
        return self.call("GET", f"/v1/commitments", query={"from": from_, "to": to})

    def configuration_get(self):
        """Get the configuration as one document"""
        return self.call("GET", f"/v1/configuration", query={})

    def cost_views_list(self, *, limit=None, cursor=None):
        """List saved questions about costs"""
        return self.call("GET", f"/v1/cost-views", query={"limit": limit, "cursor": cursor})

    def costs_costs(self, *, from_=None, to=None, basis=None, zone=None, currency=None, team=None, provider=None, account=None, sub_account=None, service=None, sku=None, region=None, term=None, gpu_model=None, category=None, group_by=None):
        """Get what was spent"""
        return self.call("GET", f"/v1/costs", query={"from": from_, "to": to, "basis": basis, "zone": zone, "currency": currency, "team": team, "provider": provider, "account": account, "sub-account": sub_account, "service": service, "sku": sku, "region": region, "term": term, "gpu-model": gpu_model, "category": category, "group-by": group_by})

    def cost_breakdown_breakdown(self, *, from_=None, to=None, basis=None, zone=None, currency=None, team=None, provider=None, account=None, sub_account=None, service=None, sku=None, region=None, term=None, gpu_model=None, category=None, group_by=None, span=None, compare=None, limit=None):
        """Get what costs consist of, and how they changed"""
        return self.call("GET", f"/v1/costs/breakdown", query={"from": from_, "to": to, "basis": basis, "zone": zone, "currency": currency, "team": team, "provider": provider, "account": account, "sub-account": sub_account, "service": service, "sku": sku, "region": region, "term": term, "gpu-model": gpu_model, "category": category, "group-by": group_by, "span": span, "compare": compare, "limit": limit})

    def cost_breakdown_bridge(self, *, from_=None, to=None, basis=None, zone=None, currency=None, team=None, provider=None, account=None, sub_account=None, service=None, sku=None, region=None, term=None, gpu_model=None, category=None, span=None):
        """Get why costs changed from the period before"""
        return self.call("GET", f"/v1/costs/bridge", query={"from": from_, "to": to, "basis": basis, "zone": zone, "currency": currency, "team": team, "provider": provider, "account": account, "sub-account": sub_account, "service": service, "sku": sku, "region": region, "term": term, "gpu-model": gpu_model, "category": category, "span": span})

    def cost_breakdown_resources(self, *, from_=None, to=None, basis=None, zone=None, currency=None, team=None, provider=None, account=None, sub_account=None, service=None, sku=None, region=None, term=None, gpu_model=None, category=None, span=None, limit=None):
        """Get what each resource cost"""
        return self.call("GET", f"/v1/costs/resources", query={"from": from_, "to": to, "basis": basis, "zone": zone, "currency": currency, "team": team, "provider": provider, "account": account, "sub-account": sub_account, "service": service, "sku": sku, "region": region, "term": term, "gpu-model": gpu_model, "category": category, "span": span, "limit": limit})

    def credits_get(self):
        """List the credits and what is left of them"""
        return self.call("GET", f"/v1/credits", query={})

    def deliveries_list(self):
        """List open deliveries"""
        return self.call("GET", f"/v1/deliveries", query={})

    def explain_explain(self, *, target=None):
        """Explain how the policies judge a target, a team or a budget"""
        return self.call("GET", f"/v1/explain", query={"target": target})

    def fleet_list(self, *, limit=None, cursor=None, team=None, connection=None, kind=None):
        """List what runs at the providers"""
        return self.call("GET", f"/v1/fleet", query={"limit": limit, "cursor": cursor, "team": team, "connection": connection, "kind": kind})

    def fleet_coverage(self):
        """Age and completeness of the readings of each connection"""
        return self.call("GET", f"/v1/fleet/coverage", query={})

    def fleet_details(self, *, team=None, currency=None):
        """What the fleet costs, how its GPUs are used, and what is done about it"""
        return self.call("GET", f"/v1/fleet/details", query={"team": team, "currency": currency})

    def fx_list(self, *, limit=None, cursor=None, currency=None):
        """List exchange rates"""
        return self.call("GET", f"/v1/fx", query={"limit": limit, "cursor": cursor, "currency": currency})

    def health_findings_list(self, *, limit=None, cursor=None, team=None, status=None):
        """List findings about the health of GPUs"""
        return self.call("GET", f"/v1/health-findings", query={"limit": limit, "cursor": cursor, "team": team, "status": status})

    def imports_list(self, *, limit=None, cursor=None):
        """List imports, newest first"""
        return self.call("GET", f"/v1/imports", query={"limit": limit, "cursor": cursor})

    def imports_rejects_of(self, id, *, limit=None, cursor=None):
        """List rows of an import that could not be read"""
        return self.call("GET", f"/v1/imports/{_quote(id)}/rejects", query={"limit": limit, "cursor": cursor})

    def keys_list(self, *, limit=None, cursor=None):
        """List keys"""
        return self.call("GET", f"/v1/keys", query={"limit": limit, "cursor": cursor})

    def leases_list(self, *, limit=None, cursor=None, team=None):
        """List leases"""
        return self.call("GET", f"/v1/leases", query={"limit": limit, "cursor": cursor, "team": team})

    def safety_limits(self, *, team=None):
        """Get the limits of actions"""
        return self.call("GET", f"/v1/limits", query={"team": team})

    def sessions_own(self, *, limit=None, cursor=None):
        """List your own sessions"""
        return self.call("GET", f"/v1/me/sessions", query={"limit": limit, "cursor": cursor})

    def overview_overview(self):
        """Spend, forecast and budgets at a glance"""
        return self.call("GET", f"/v1/overview", query={})

    def peak_get(self):
        """Get the peak schedule"""
        return self.call("GET", f"/v1/peak", query={})

    def policies_list(self, *, limit=None, cursor=None):
        """List the policies and the current documents"""
        return self.call("GET", f"/v1/policies", query={"limit": limit, "cursor": cursor})

    def policies_get(self, name):
        """Get a policy document"""
        return self.call("GET", f"/v1/policies/{_quote(name)}", query={})

    def prices_list(self, *, limit=None, cursor=None, provider=None, sku=None):
        """List price versions"""
        return self.call("GET", f"/v1/prices", query={"limit": limit, "cursor": cursor, "provider": provider, "sku": sku})

    def recommendations_list(self, *, limit=None, cursor=None, team=None, status=None):
        """List recommendations"""
        return self.call("GET", f"/v1/recommendations", query={"limit": limit, "cursor": cursor, "team": team, "status": status})

    def recommendations_get(self, id):
        """Get a recommendation"""
        return self.call("GET", f"/v1/recommendations/{_quote(id)}", query={})

    def recommendations_evidence(self, id):
        """Get the evidence of a recommendation, as a series"""
        return self.call("GET", f"/v1/recommendations/{_quote(id)}/evidence", query={})

    def reconciliation_list(self, *, limit=None, cursor=None, month=None, team=None, source=None, provider=None, sku=None, reason=None, from_=None, to=None):
        """List how bills differ from accruals, by team, SKU and day"""
        return self.call("GET", f"/v1/reconciliation", query={"limit": limit, "cursor": cursor, "month": month, "team": team, "source": source, "provider": provider, "sku": sku, "reason": reason, "from": from_, "to": to})

    def reconciliation_findings(self, *, limit=None, cursor=None, month=None, team=None, state=None):
        """List variances beyond the threshold, newest month first"""
        return self.call("GET", f"/v1/reconciliation/findings", query={"limit": limit, "cursor": cursor, "month": month, "team": team, "state": state})

    def reconciliation_rates(self, *, limit=None, cursor=None):
        """List the rates learned from bills, newest period first"""
        return self.call("GET", f"/v1/reconciliation/rates", query={"limit": limit, "cursor": cursor})

    def reconciliation_settings(self):
        """Get whether learned rates are applied, the threshold of findings, and how long bills settle"""
        return self.call("GET", f"/v1/reconciliation/settings", query={})

    def imports_rejects(self, *, limit=None, cursor=None):
        """List all rows that could not be read, newest import first"""
        return self.call("GET", f"/v1/rejects", query={"limit": limit, "cursor": cursor})

    def reports_list(self, *, limit=None, cursor=None, team=None, month=None):
        """List monthly reports, newest month first"""
        return self.call("GET", f"/v1/reports", query={"limit": limit, "cursor": cursor, "team": team, "month": month})

    def reports_schedule(self):
        """When monthly reports are made"""
        return self.call("GET", f"/v1/reports/schedule", query={})

    def reports_get(self, team, month, *, format=None, lang=None):
        """Get a team's report of a month"""
        return self.call("GET", f"/v1/reports/{_quote(team)}/{_quote(month)}", query={"format": format, "lang": lang})

    def reservations_list(self, *, limit=None, cursor=None, team=None, active=None):
        """List reservations, newest first"""
        return self.call("GET", f"/v1/reservations", query={"limit": limit, "cursor": cursor, "team": team, "active": active})

    def roles_list(self, *, limit=None, cursor=None):
        """List roles"""
        return self.call("GET", f"/v1/roles", query={"limit": limit, "cursor": cursor})

    def rules_get(self):
        """Get the allocation rules"""
        return self.call("GET", f"/v1/rules", query={})

    def rules_candidates(self, *, from_=None, to=None, limit=None):
        """List what rules could match in unallocated costs"""
        return self.call("GET", f"/v1/rules/candidates", query={"from": from_, "to": to, "limit": limit})

    def samples_retention(self):
        """How long samples are kept"""
        return self.call("GET", f"/v1/samples/retention", query={})

    def samples_sources(self):
        """Sources of GPU evidence that are read, and up to when"""
        return self.call("GET", f"/v1/samples/sources", query={})

    def savings_list(self, *, limit=None, cursor=None, team=None, policy=None, state=None, from_=None, to=None):
        """List what actions saved, newest first"""
        return self.call("GET", f"/v1/savings", query={"limit": limit, "cursor": cursor, "team": team, "policy": policy, "state": state, "from": from_, "to": to})

    def savings_get(self, action, *, limit=None, cursor=None):
        """Get an action's saving, hour by hour, with the sources of each figure"""
        return self.call("GET", f"/v1/savings/{_quote(action)}", query={"limit": limit, "cursor": cursor})

    def search_search(self, *, words=None, most=None):
        """Find teams, budgets, targets, actions, recommendations and policy documents by id or name"""
        return self.call("GET", f"/v1/search", query={"words": words, "most": most})

    def sessions_list(self, *, limit=None, cursor=None, of=None):
        """List who is signed in"""
        return self.call("GET", f"/v1/sessions", query={"limit": limit, "cursor": cursor, "of": of})

    def alert_settings_users(self, *, limit=None, cursor=None):
        """List the keys of Slack users"""
        return self.call("GET", f"/v1/slack-users", query={"limit": limit, "cursor": cursor})

    def safety_stops(self):
        """Get what the kill switch stops"""
        return self.call("GET", f"/v1/stop", query={})

    def teams_list(self, *, limit=None, cursor=None):
        """List teams"""
        return self.call("GET", f"/v1/teams", query={"limit": limit, "cursor": cursor})

    def teams_get(self, id):
        """Get a team"""
        return self.call("GET", f"/v1/teams/{_quote(id)}", query={})

    def overview_leases(self, id):
        """List a team's leases"""
        return self.call("GET", f"/v1/teams/{_quote(id)}/leases", query={})

    def measurements_list(self, *, limit=None, cursor=None, team=None, model=None):
        """List measured throughputs, newest first"""
        return self.call("GET", f"/v1/throughput-measurements", query={"limit": limit, "cursor": cursor, "team": team, "model": model})

    def search_waiting(self):
        """How much waits for a person"""
        return self.call("GET", f"/v1/waiting", query={})

    def operations_work(self, *, limit=None, cursor=None):
        """List parked work"""
        return self.call("GET", f"/v1/work", query={"limit": limit, "cursor": cursor})

    def progress_progress(self):
        """How much work waits, as server-sent events"""
        return self.call("GET", f"/v1/work/progress", query={})

    def workload_metrics_newest(self, *, team=None):
        """List the known metrics of workloads, with their newest values"""
        return self.call("GET", f"/v1/workload-metrics", query={"team": team})

    def actions_approve(self, id):
        """Approve an action"""
        return self.call("POST", f"/v1/actions/{_quote(id)}/approve", query={})

    def actions_reject(self, id, body=None):
        """Reject an action that no provider has been asked for yet"""
        return self.call("POST", f"/v1/actions/{_quote(id)}/reject", query={}, body=body)

    def actions_rollback(self, id, body=None):
        """Roll an action back"""
        return self.call("POST", f"/v1/actions/{_quote(id)}/rollback", query={}, body=body)

    def alert_settings_mute(self, body=None):
        """Mute alerts for a while"""
        return self.call("POST", f"/v1/alert-mutes", query={}, body=body)

    def alerts_test(self):
        """Test whether alerts arrive"""
        return self.call("POST", f"/v1/alerts/test", query={})

    def alerts_acknowledge(self, id):
        """Acknowledge an alert"""
        return self.call("POST", f"/v1/alerts/{_quote(id)}/acknowledge", query={})

    def backtests_order(self, body=None):
        """Run a policy over recorded history"""
        return self.call("POST", f"/v1/backtests", query={}, body=body)

    def configuration_plan(self, body=None):
        """What a configuration would change"""
        return self.call("POST", f"/v1/configuration/plan", query={}, body=body)

    def cost_views_add(self, body=None):
        """Save a question about costs"""
        return self.call("POST", f"/v1/cost-views", query={}, body=body)

    def deliveries_commit(self, name, body=None, *, strict=None, dry_run=None, replace=None):
        """Import the files of a delivery together, and close it"""
        return self.call("POST", f"/v1/deliveries/{_quote(name)}/commit", query={"strict": strict, "dryRun": dry_run, "replace": replace}, body=body)

    def deliveries_add(self, name, body=None, *, filename=None, replace=None):
        """Add a file to an open delivery"""
        return self.call("POST", f"/v1/deliveries/{_quote(name)}/files", query={"filename": filename, "replace": replace}, body=body)

    def imports_upload(self, body=None, *, strict=None, dry_run=None, filename=None, format=None, source=None, replace=None):
        """Import a bill or a file of usage"""
        return self.call("POST", f"/v1/imports", query={"strict": strict, "dryRun": dry_run, "filename": filename, "format": format, "source": source, "replace": replace}, body=body)

    def imports_undo(self, id):
        """Undo a whole import"""
        return self.call("POST", f"/v1/imports/{_quote(id)}/undo", query={})

    def keys_create(self, body=None):
        """Create a key"""
        return self.call("POST", f"/v1/keys", query={}, body=body)

    def keys_rotate(self, id, body=None):
        """Give a key a new secret"""
        return self.call("POST", f"/v1/keys/{_quote(id)}/rotate", query={}, body=body)

    def leases_renew(self, id, body=None):
        """Move a lease's end"""
        return self.call("POST", f"/v1/leases/{_quote(id)}/renew", query={}, body=body)

    def sessions_end_others(self):
        """End your own sessions except that of this request"""
        return self.call("POST", f"/v1/me/sessions/end", query={})

    def quotes_place(self, body=None):
        """Find the cheapest places for a workload"""
        return self.call("POST", f"/v1/placements", query={}, body=body)

    def policies_validate(self, body=None):
        """Check a policy document"""
        return self.call("POST", f"/v1/policies/validate", query={}, body=body)

    def policies_pause(self, name):
        """Pause a policy document"""
        return self.call("POST", f"/v1/policies/{_quote(name)}/pause", query={})

    def policies_resume(self, name):
        """Resume a paused policy document"""
        return self.call("POST", f"/v1/policies/{_quote(name)}/resume", query={})

    def prices_upload(self, body=None, *, strict=None, dry_run=None, filename=None, format=None, source=None):
        """Import a price list"""
        return self.call("POST", f"/v1/prices", query={"strict": strict, "dryRun": dry_run, "filename": filename, "format": format, "source": source}, body=body)

    def prices_restore(self, id):
        """Restore the withdrawn statement of a price"""
        return self.call("POST", f"/v1/prices/{_quote(id)}/restore", query={})

    def prices_withdraw(self, id):
        """Withdraw the statement of a price"""
        return self.call("POST", f"/v1/prices/{_quote(id)}/withdraw", query={})

    def quotes_quote(self, body=None):
        """Quote a run"""
        return self.call("POST", f"/v1/quotes", query={}, body=body)

    def recommendations_approve(self, id):
        """Approve a recommendation"""
        return self.call("POST", f"/v1/recommendations/{_quote(id)}/approve", query={})

    def recommendations_reject(self, id):
        """Reject a recommendation"""
        return self.call("POST", f"/v1/recommendations/{_quote(id)}/reject", query={})

    def reconciliation_withdraw(self, id):
        """Withdraw a learned rate permanently"""
        return self.call("POST", f"/v1/reconciliation/rates/{_quote(id)}/withdraw", query={})

    def reports_request(self, body=None):
        """Request a report"""
        return self.call("POST", f"/v1/reports", query={}, body=body)

    def reservations_reserve(self, body=None):
        """Reserve budget for a run"""
        return self.call("POST", f"/v1/reservations", query={}, body=body)

    def rules_preview(self, body=None):
        """Preview each team's costs under other rules"""
        return self.call("POST", f"/v1/rules/preview", query={}, body=body)

    def samples_send(self, body=None):
        """Send GPU samples"""
        return self.call("POST", f"/v1/samples", query={}, body=body)

    def sessions_end_all(self, body=None):
        """End all sessions of somebody"""
        return self.call("POST", f"/v1/sessions/end", query={}, body=body)

    def safety_stop(self, body=None):
        """Stop all actions, of a team, or of a provider"""
        return self.call("POST", f"/v1/stop", query={}, body=body)

    def safety_lift(self, body=None):
        """Let actions continue"""
        return self.call("POST", f"/v1/stop/lift", query={}, body=body)

    def measurements_add(self, body=None):
        """Add measured throughputs"""
        return self.call("POST", f"/v1/throughput-measurements", query={}, body=body)

    def measurements_predict(self, body=None):
        """Predict a throughput, and the time and cost to finish"""
        return self.call("POST", f"/v1/throughput-predictions", query={}, body=body)

    def usage_send(self, body=None, *, strict=None, dry_run=None, source=None):
        """Send usage"""
        return self.call("POST", f"/v1/usage", query={"strict": strict, "dryRun": dry_run, "source": source}, body=body)

    def workload_metrics_send(self, body=None):
        """Send metrics of workloads"""
        return self.call("POST", f"/v1/workload-metrics", query={}, body=body)

    def admission_save(self, body=None):
        """Set what the admission webhook refuses"""
        return self.call("PUT", f"/v1/admission", query={}, body=body)

    def alert_settings_save_routes(self, body=None):
        """Set where alerts go"""
        return self.call("PUT", f"/v1/alert-routes", query={}, body=body)

    def budgets_save(self, id, body=None):
        """Add or change a budget"""
        return self.call("PUT", f"/v1/budgets/{_quote(id)}", query={}, body=body)

    def configuration_save(self, body=None):
        """Apply a configuration"""
        return self.call("PUT", f"/v1/configuration", query={}, body=body)

    def cost_views_change(self, id, body=None):
        """Change a saved question"""
        return self.call("PUT", f"/v1/cost-views/{_quote(id)}", query={}, body=body)

    def credits_save(self, body=None):
        """Replace all credits"""
        return self.call("PUT", f"/v1/credits", query={}, body=body)

    def deliveries_open(self, name, body=None):
        """Open a delivery: files of one bill that are imported together"""
        return self.call("PUT", f"/v1/deliveries/{_quote(name)}", query={}, body=body)

    def fx_save(self, body=None):
        """Add or correct exchange rates"""
        return self.call("PUT", f"/v1/fx", query={}, body=body)

    def leases_give(self, id, body=None):
        """Give a lease, or replace its terms"""
        return self.call("PUT", f"/v1/leases/{_quote(id)}", query={}, body=body)

    def safety_save_limits(self, body=None, *, team=None):
        """Set the limits of actions"""
        return self.call("PUT", f"/v1/limits", query={"team": team}, body=body)

    def peak_save(self, body=None):
        """Replace the peak schedule"""
        return self.call("PUT", f"/v1/peak", query={}, body=body)

    def policies_apply(self, name, body=None):
        """Apply a policy document"""
        return self.call("PUT", f"/v1/policies/{_quote(name)}", query={}, body=body)

    def reconciliation_save_settings(self, body=None):
        """Set whether learned rates are applied, the threshold of findings, and how long bills settle"""
        return self.call("PUT", f"/v1/reconciliation/settings", query={}, body=body)

    def reports_set_schedule(self, body=None):
        """Set when monthly reports are made"""
        return self.call("PUT", f"/v1/reports/schedule", query={}, body=body)

    def roles_save(self, name, body=None):
        """Set a custom role"""
        return self.call("PUT", f"/v1/roles/{_quote(name)}", query={}, body=body)

    def rules_save(self, body=None):
        """Replace the allocation rules"""
        return self.call("PUT", f"/v1/rules", query={}, body=body)

    def samples_set_retention(self, body=None):
        """Set how long samples are kept"""
        return self.call("PUT", f"/v1/samples/retention", query={}, body=body)

    def alert_settings_connect(self, workspace, user, body=None):
        """Give a Slack user the rights of a key"""
        return self.call("PUT", f"/v1/slack-users/{_quote(workspace)}/{_quote(user)}", query={}, body=body)

    def teams_save(self, id, body=None):
        """Add or change a team"""
        return self.call("PUT", f"/v1/teams/{_quote(id)}", query={}, body=body)
