/**
 * Holds a release's version together: the tag, package.json, the chart and CHANGELOG.md must name the same one.
 *
 *   node scripts/check-release.mjs v1.2.3 [--notes]     with --notes: prints that version's part of the change log
 *
 * Exits 1 and names everything that differs.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

const root = path.resolve(import.meta.dirname, '..');
const read = (file) => readFileSync(path.join(root, file), 'utf8');
const [tag = '', flag] = process.argv.slice(2);
const version = tag.replace(/^v/, '');

const chart = parse(read('deploy/helm/bursar/Chart.yaml'));
const sections = read('CHANGELOG.md').split(/^## /m).slice(1);
const notes = sections.find((section) => section.startsWith(`${version} `) || section.startsWith(`${version}\n`));
const stated = {
  'package.json': JSON.parse(read('package.json')).version,
  'Chart.yaml version': chart.version,
  'Chart.yaml appVersion': chart.appVersion,
};
const wrong = Object.entries(stated)
  .filter(([, one]) => one !== version)
  .map(([name, one]) => `${name} says ${one}`);
if (notes === undefined) wrong.push('CHANGELOG.md has no section for it');
if (!/^\d+\.\d+\.\d+$/.test(version)) wrong.unshift('the tag is not v<major>.<minor>.<patch>');

if (wrong.length > 0) {
  console.error(`${tag || 'no tag'} cannot be released: ${wrong.join('; ')}`);
  process.exitCode = 1;
} else if (flag === '--notes') console.log(notes.slice(notes.indexOf('\n') + 1).trim());
