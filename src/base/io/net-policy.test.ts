// Which URLs are accepted, rule by rule and spelling by spelling. The addresses have a test of their own.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkUrl, isPrivateAddress, type UrlPolicy } from "./net-policy.js";

const typed: UrlPolicy = { source: "typed" };
const UNTRUSTED = ["project", "redirect", "discovery"] as const;

function isAccepted(text: string, policy: UrlPolicy): boolean {
  return checkUrl(text, policy).ok;
}

describe("checkUrl, whoever names the URL", () => {
  test.each(["", "example.com", "/mcp", "http://", "https://1.2.3.4.5/", "https://[::1", "https://a b/"])(
    "refuses %j as invalid",
    (text) => {
      expect(checkUrl(text, typed)).toEqual({ ok: false, reason: "it is not a valid URL" });
    },
  );

  test("takes an address with an umlaut, however many it has looked at", () => {
    const address = "https://b\u00fccher.example/gr\u00fc\u00dfe";
    const verdicts = Array.from({ length: 20_000 }, () => isAccepted(address, typed));
    expect(verdicts.indexOf(false)).toBe(-1);
  });

  test("refuses every scheme but http and https", () => {
    for (const text of [
      "ftp://example.com",
      "file:///etc/passwd",
      "javascript:alert(1)",
      "data:,x",
      "ws://localhost",
      "unix:/run/x.sock",
    ]) {
      expect(checkUrl(text, typed)).toMatchObject({
        ok: false,
        reason: expect.stringContaining("only http and https"),
      });
    }
  });

  test("refuses a user name or password, even for an allowed host, and does not repeat them", () => {
    for (const text of ["https://hunter2@example.com", "https://:hunter2@example.com", "http://a:hunter2@localhost/"]) {
      const verdict = checkUrl(text, { ...typed, allowHosts: ["example.com", "localhost"] });
      expect(verdict).toMatchObject({ ok: false, reason: expect.stringContaining("user name or password") });
      expect(JSON.stringify(verdict)).not.toContain("hunter2");
    }
  });

  test("never repeats path or query in a reason, since they may hold a token", () => {
    for (const source of ["typed", ...UNTRUSTED] as const) {
      for (const text of [
        "http://example.com/s3cret?key=s3cret#s3cret",
        "ftp://example.com/s3cret",
        "http:// bad/s3cret",
        "http://10.0.0.1/s3cret",
      ]) {
        const verdict = checkUrl(text, { source });
        expect(verdict.ok).toBe(false);
        expect(JSON.stringify(verdict)).not.toContain("s3cret");
      }
    }
  });

  test("wants https, except for loopback and for hosts the user allows", () => {
    expect(isAccepted("https://example.com/mcp", typed)).toBe(true);
    expect(checkUrl("http://example.com/mcp", typed)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('use https for "example.com"'),
    });
    expect(isAccepted("http://192.168.1.2/mcp", typed)).toBe(false);
    expect(isAccepted("http://0.0.0.0:3000/mcp", typed)).toBe(false);
    expect(isAccepted("http://example.com/mcp", { ...typed, allowHosts: ["example.com"] })).toBe(true);
    for (const host of [
      "localhost:3000",
      "127.0.0.1",
      "[::1]:8080",
      "app.localhost",
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "[::ffff:127.0.0.1]",
    ]) {
      expect([host, isAccepted(`http://${host}/mcp`, typed)]).toEqual([host, true]);
    }
  });

  test("hands back the URL as the parser reads it", () => {
    const verdict = checkUrl("HTTPS://ExAmple.com:443/a/../b?c=d", typed);
    expect(verdict.ok && verdict.url.href).toBe("https://example.com/b?c=d");
  });
});

describe("checkUrl for what others name", () => {
  /** The same address in every spelling the URL parser knows. */
  function spellings(octets: readonly number[]): string[] {
    const [a = 0, b = 0, c = 0, d = 0] = octets;
    const value = ((a * 256 + b) * 256 + c) * 256 + d;
    const pair = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    return [
      octets.join("."),
      `${octets.join(".")}.`,
      String(value),
      `0x${value.toString(16)}`,
      `0${value.toString(8)}`,
      octets.map((octet) => `0${octet.toString(8)}`).join("."),
      octets.map((octet) => `0X${octet.toString(16)}`).join("."),
      `${a}.${b * 65_536 + c * 256 + d}`,
      `${a}.${b}.${c * 256 + d}`,
      `[::ffff:${pair}]`,
      `[::ffff:${octets.join(".")}]`,
      `[64:ff9b::${pair}]`,
      `[2002:${pair}::]`,
      octets.join("。"),
      `%${octets.join(".").charCodeAt(0).toString(16)}${octets.join(".").slice(1)}`,
    ];
  }

  const octet = fc.nat(255);
  const prefix = fc.constantFrom([10], [127], [169, 254], [172, 16], [192, 168], [100, 64], [0], [8, 8], [224]);
  const address = fc
    .tuple(fc.oneof(prefix, fc.constant([])), octet, octet, octet, octet)
    .map(([first, ...rest]) => [...first, ...rest].slice(0, 4));

  test("refuses private addresses in all spellings and accepts public ones in all spellings", () => {
    fc.assert(
      fc.property(address, fc.constantFrom(...UNTRUSTED), (octets, source) => {
        for (const host of spellings(octets)) {
          const isRefused = !isAccepted(`https://${host}/x`, { source });
          expect([host, isRefused]).toEqual([host, isPrivateAddress(octets.join("."))]);
          expect(isAccepted(`https://${host}/x`, typed)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each(UNTRUSTED)("refuses names and addresses of this machine for %s", (source) => {
    for (const host of [
      "localhost",
      "LOCALHOST.",
      "x.localhost",
      "127.0.0.1",
      "0.0.0.0",
      "0",
      "[::1]",
      "[::]",
      "[fd00::1]",
      "[fe80::1]",
    ]) {
      for (const scheme of ["http", "https"])
        expect([host, isAccepted(`${scheme}://${host}:3000/`, { source })]).toEqual([host, false]);
    }
  });

  test("says who led where, and that allowing it is up to the user", () => {
    expect(checkUrl("https://10.0.0.1:8443/x", { source: "redirect" })).toEqual({
      ok: false,
      reason: '"10.0.0.1:8443" is not a public address and a redirect may not lead there unless the user allows it',
    });
  });

  test("accepts a name, but says that it may not resolve to a private address", () => {
    for (const source of UNTRUSTED)
      expect(checkUrl("https://example.com/", { source })).toMatchObject({ ok: true, mayBePrivate: false });
    expect(checkUrl("https://example.com/", typed)).toMatchObject({ ok: true, mayBePrivate: true });
    expect(checkUrl("https://example.com/", { source: "project", allowHosts: ["example.com"] })).toMatchObject({
      mayBePrivate: true,
    });
  });

  test("lets an answer lead back to where it came from, and no further", () => {
    const from = new URL("http://127.0.0.1:3000/mcp");
    const policy: UrlPolicy = { source: "redirect", from };
    expect(checkUrl("http://127.0.0.1:3000/other", policy)).toMatchObject({ ok: true, mayBePrivate: true });
    expect(isAccepted("http://localhost:3000/other", policy)).toBe(true);
    expect(isAccepted("http://[::1]:3000/other", policy)).toBe(true);
    expect(isAccepted("http://127.0.0.1:3001/", policy)).toBe(false);
    expect(isAccepted("https://127.0.0.1:3000/", policy)).toBe(false);
    expect(isAccepted("https://10.0.0.1:3000/", policy)).toBe(false);
    expect(isAccepted("https://10.0.0.1/b", { source: "redirect", from: new URL("https://10.0.0.1/a") })).toBe(true);
    expect(isAccepted("https://10.0.0.2/b", { source: "redirect", from: new URL("https://10.0.0.1/a") })).toBe(false);
    expect(isAccepted("https://localhost/", { source: "redirect", from: new URL("https://example.com/") })).toBe(false);
    expect(isAccepted("http://127.0.0.1/", { source: "redirect", from: new URL("https://example.com/") })).toBe(false);
    expect(isAccepted("http://example.com/", { source: "redirect", from: new URL("https://example.com/") })).toBe(
      false,
    );
  });

  test("reads a relative redirect against where it came from", () => {
    const from = new URL("https://example.com/a/b");
    const verdict = checkUrl("../c?d", { source: "redirect", from });
    expect(verdict.ok && verdict.url.href).toBe("https://example.com/c?d");
    expect(isAccepted("//169.254.169.254/latest", { source: "redirect", from })).toBe(false);
  });
});

describe("allowHosts", () => {
  test.each([
    ["internal.example", "http://internal.example:8080/", true],
    ["INTERNAL.example", "http://internal.example/", true],
    ["internal.example", "http://internal.example./", true],
    ["internal.example:8080", "http://internal.example:8080/", true],
    ["internal.example:8080", "http://internal.example:8081/", false],
    ["internal.example:80", "http://internal.example/", true],
    ["internal.example:80", "http://internal.example:8080/", false],
    ["internal.example:443", "https://internal.example/", true],
    ["internal.example:443", "http://internal.example/", false],
    ["example", "http://internal.example/", false],
    ["10.0.0.1", "http://0x0a000001/", true],
    ["fd00::1", "http://[fd00::1]:99/", true],
    ["[fd00::1]:99", "http://[fd00::1]:99/", true],
    ["[fd00::1]:98", "http://[fd00::1]:99/", false],
    ["bücher.example", "http://xn--bcher-kva.example/", true],
    ["https://internal.example", "http://internal.example/", false],
    ["https://internal.example", "http://https/", false],
    ["user@internal.example", "http://internal.example/", false],
    ["", "http://internal.example/", false],
    ["*", "http://internal.example/", false],
    ["a b", "http://internal.example/", false],
  ])("%j for %s: %s", (entry, text, isAllowed) => {
    expect(isAccepted(text, { source: "redirect", allowHosts: ["other.example", entry] })).toBe(
      isAllowed || (text.startsWith("https") && !text.includes("[")),
    );
    if (text.startsWith("http:")) expect(isAccepted(text, { source: "typed", allowHosts: [entry] })).toBe(isAllowed);
    else expect(checkUrl(text, { source: "redirect", allowHosts: [entry] })).toMatchObject({ mayBePrivate: isAllowed });
  });
});

test("checkUrl takes any text from anyone without throwing, and what it accepts is http(s) without credentials", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.webUrl(),
    fc.string().map((rest) => `http://${rest}`),
  );
  fc.assert(
    fc.property(
      text,
      fc.array(fc.string(), { maxLength: 2 }),
      fc.constantFrom("typed" as const, ...UNTRUSTED),
      (url, allowHosts, source) => {
        const verdict = checkUrl(url, { source, allowHosts });
        if (!verdict.ok) {
          expect(verdict.reason).not.toBe("");
          return;
        }
        expect(verdict.url.protocol).toMatch(/^https?:$/);
        expect(verdict.url.username + verdict.url.password).toBe("");
      },
    ),
    { numRuns: 1_000 },
  );
});
