// Addresses, judged against a second table of ranges and against the block list of Node.
import { BlockList, isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isLoopbackHost, isPrivateAddress } from "./net-policy.js";

/** The oracle: the same registry as ranges of numbers, written independently of the code under test. */
const V4_RANGES: readonly (readonly [first: string, last: string])[] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["168.63.129.16", "168.63.129.16"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "255.255.255.255"],
];

function toNumber(dotted: string): number {
  return dotted.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function toDotted(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

function isPrivateByOracle(value: number): boolean {
  return V4_RANGES.some(([first, last]) => value >= toNumber(first) && value <= toNumber(last));
}

function hexPair(value: number): string {
  return `${Math.floor(value / 65_536).toString(16)}:${(value % 65_536).toString(16)}`;
}

const edges = V4_RANGES.flatMap(([first, last]) => [
  toNumber(first) - 1,
  toNumber(first),
  toNumber(last),
  toNumber(last) + 1,
]);
/** Any IPv4 address, the edges of the ranges far more often than chance would. */
const v4Value = fc.oneof(
  fc.nat(2 ** 32 - 1),
  fc.constantFrom(...edges.filter((value) => value >= 0 && value < 2 ** 32)),
  fc.constantFrom(...V4_RANGES).chain(([first, last]) => fc.integer({ min: toNumber(first), max: toNumber(last) })),
);

describe("isPrivateAddress", () => {
  test("agrees with the registry on every IPv4 address, and on each IPv6 form that carries one", () => {
    fc.assert(
      fc.property(v4Value, (value) => {
        const expected = isPrivateByOracle(value);
        const forms = [
          toDotted(value),
          `::ffff:${toDotted(value)}`,
          `::ffff:${hexPair(value)}`,
          `0:0:0:0:0:FFFF:${hexPair(value)}`,
          `64:ff9b::${toDotted(value)}`,
          `64:ff9b::${hexPair(value)}`,
          `2002:${hexPair(value)}::1`,
          `[2002:${hexPair(value)}:1:2:3:4:5]`,
        ];
        for (const form of forms) expect([form, isPrivateAddress(form)]).toEqual([form, expected]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("agrees with a block list of Node on any spelling of an IPv6 address", () => {
    const global = new BlockList();
    global.addSubnet("2000::", 3, "ipv6");
    const special = new BlockList();
    for (const [network, prefix] of [
      ["2001::", 23],
      ["2001:db8::", 32],
      ["3fff::", 20],
    ] as const) {
      special.addSubnet(network, prefix, "ipv6");
    }
    const head = fc.constantFrom(
      "2001:0",
      "2001:1ff",
      "2001:200",
      "2001:db7",
      "2001:db8",
      "2001:db9",
      "3ffe:ffff",
      "3fff:0",
    );
    const moreHeads = fc.constantFrom(
      "3fff:fff",
      "3fff:1000",
      "1fff:ffff",
      "2000:0",
      "4000:0",
      "fc00:0",
      "fe80:0",
      "ff02:0",
      "2a00:1",
    );
    const tail = fc
      .array(fc.nat(0xffff), { minLength: 6, maxLength: 6 })
      .map((groups) => groups.map((group) => group.toString(16)));
    const near = fc.tuple(fc.oneof(head, moreHeads), tail).map(([first, rest]) => [first, ...rest].join(":"));
    fc.assert(
      fc.property(fc.oneof(fc.ipV6(), near), (address) => {
        fc.pre(!/^(0{1,4}:|::|0*64:|2002:)/.test(address)); // those may carry an IPv4 address: see above
        const expected = !global.check(address, "ipv6") || special.check(address, "ipv6");
        for (const form of [address, address.toUpperCase(), `[${address}]`, `${address}%eth0`]) {
          expect([form, isPrivateAddress(form)]).toEqual([form, expected]);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::127.0.0.1", // IPv4-compatible, deprecated
    "::8.8.8.8",
    "fc00::1",
    "fd00:ec2::254", // metadata of a cloud
    "fe80::1",
    "fe80::1%eth0",
    "[fe80::1%25eth0]",
    "febf::1",
    "fec0::1", // site-local, deprecated
    "ff02::1",
    "64:ff9b:1::1", // NAT64 for local use
    "64:ff9b::7f00:1",
    "100::1", // discard
    "2001::1", // Teredo
    "2001:db8::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "169.254.169.254",
    "255.255.255.255",
  ])("takes %s as private", (address) => expect(isPrivateAddress(address)).toBe(true));

  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "172.32.0.0",
    "2606:4700::1111",
    "2a00:1450:4001::200e",
    "64:ff9b::808:808",
    "2002:808:808::1",
  ])("takes %s as public", (address) => expect(isPrivateAddress(address)).toBe(false));

  test("takes whatever is no address as private, so that a caller's mistake is refused and not dialled", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(
          isIP(
            text
              .replace(/^\[(.*)\]$/, "$1")
              .replace(/%.*$/, "")
              .replace(/\.$/, ""),
          ) === 0,
        );
        expect(isPrivateAddress(text)).toBe(true);
      }),
    );
    for (const text of ["", "example.com", "0x7f.1", "127.1", "08.8.8.8", "8.8.8.256", "8.8.8", "1.2.3.4.5"])
      expect(isPrivateAddress(text)).toBe(true);
  });
});

describe("isLoopbackHost", () => {
  test.each([
    "localhost",
    "LocalHost",
    "localhost.",
    "app.localhost",
    "127.0.0.1",
    "127.255.255.254",
    "::1",
    "[::1]",
    "[::ffff:7f00:1]",
  ])("knows %s", (host) => expect(isLoopbackHost(host)).toBe(true));

  test.each([
    "",
    "localhost.example.com",
    "notlocalhost",
    "0.0.0.0",
    "::",
    "128.0.0.1",
    "10.0.0.1",
    "[::7f00:1]",
    "[fe80::1]",
    "example.com",
  ])("does not take %s for it", (host) => expect(isLoopbackHost(host)).toBe(false));
});
