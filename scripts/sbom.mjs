/**
 * Prints the bill of materials of what is shipped, in CycloneDX: node scripts/sbom.mjs > bursar-sbom.cdx.json
 *
 * `npm sbom --omit=dev` leaves out packages that something of development needs too. So the lock file is first reduced
 * to what is shipped, in a folder of its own; versions and digests stay those of the lock file.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(tmpdir(), 'bursar-sbom-'));
const npm = (...given) =>
  execFileSync('npm', given, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
try {
  const {
    devDependencies: _,
    scripts: __,
    ...shipped
  } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(shipped));
  copyFileSync(path.join(root, 'package-lock.json'), path.join(folder, 'package-lock.json'));
  npm('install', '--package-lock-only', '--ignore-scripts', '--offline', '--silent');
  process.stdout.write(npm('sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
