/** AWS' usage types of volumes and traffic, as the meter, the price list and the bill call them here. */
import { expect, it } from 'vitest';
import { storageOrTrafficSku } from '../../../src/core/price/aws-usage-type.js';

it.each([
  ['EBS:VolumeUsage.gp3', 'EBS:VolumeUsage.gp3'],
  ['USW2-EBS:VolumeUsage.gp3', 'EBS:VolumeUsage.gp3'],
  ['EU-EBS:VolumeUsage', 'EBS:VolumeUsage'],
  ['USW2-LAX1-EBS:VolumeUsage.gp2', 'EBS:VolumeUsage.gp2'],
  ['APN1-EBS:VolumeP-IOPS.io2.tier2', 'EBS:VolumeP-IOPS.io2.tier2'],
  ['DataTransfer-Out-Bytes', 'DataTransfer-Out-Bytes'],
  ['EUC1-DataTransfer-Out-Bytes', 'DataTransfer-Out-Bytes'],
])('%s is %s', (usageType, sku) => {
  expect(storageOrTrafficSku(usageType)).toBe(sku);
});

it.each([
  'EBS:SnapshotUsage',
  'USW2-BoxUsage:p4d.24xlarge',
  'USE1-USW2-AWS-Out-Bytes',
  'DataTransfer-Regional-Bytes',
  '',
])('%s is neither', (usageType) => {
  expect(storageOrTrafficSku(usageType)).toBeNull();
});
