// The sandbox of a session's server: never looser than spec, configuration or the session's least, however often it is asked.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SANDBOX_MODES, type ServerSandbox, stricterMode } from "../../config/index.js";
import type { SandboxSpec, StdioSpec } from "../../mcp/index.js";
import { inSandbox, sandboxWords } from "./sandbox.js";

const SPEC: StdioSpec = { kind: "stdio", name: "s", command: "x", args: [], env: {} };
const mode = fc.constantFrom(...SANDBOX_MODES);
const list = fc.subarray(["/a", "/b"]);
const configured: fc.Arbitrary<ServerSandbox | undefined> = fc.option(
  fc.record({
    mode,
    network: fc.boolean(),
    read: list,
    write: list,
    hidden: fc.constant(["/tenon"]),
    cacheDir: fc.constant("/cache"),
    isProject: fc.boolean(),
    isImposed: fc.boolean(),
    refused: fc.constant([]),
  }),
  { nil: undefined },
);
const brought: fc.Arbitrary<SandboxSpec | undefined> = fc.option(
  fc.record({ mode: fc.constantFrom("workspace", "read-only"), network: fc.boolean(), read: list, write: list }),
  { nil: undefined },
);
const specOf = (sandbox: SandboxSpec | undefined): StdioSpec => (sandbox ? { ...SPEC, sandbox } : SPEC);

function sandboxOf(...given: Parameters<typeof inSandbox>): SandboxSpec | undefined {
  const spec = inSandbox(...given);
  return spec.kind === "stdio" ? spec.sandbox : undefined;
}

describe("inSandbox", () => {
  it("is the strictest of all, and doing it again changes nothing", () => {
    fc.assert(
      fc.property(brought, configured, mode, (own, config, least) => {
        const once = inSandbox(specOf(own), config, { least, directories: ["/more"] });
        const strictest = [own?.mode, config?.mode, least].reduce((one, other) => stricterMode(one, other), "off");
        expect(sandboxOf(specOf(own), config, { least })?.mode ?? "off").toBe(strictest);
        expect(inSandbox(once, config, { least, directories: ["/more"] })).toEqual(once);
      }),
    );
  });

  it("grants no more than a configuration that asks for a sandbox", () => {
    fc.assert(
      fc.property(brought, configured, mode, (own, config, least) => {
        fc.pre(config !== undefined && config.mode !== "off" && !(config.isProject && !config.isImposed));
        const sandbox = sandboxOf(specOf(own), config, { least });
        expect(sandbox?.network === true && config?.network === false).toBe(false);
        expect(sandbox).toMatchObject({
          read: config?.read,
          write: config?.write,
          hidden: ["/tenon"],
          cacheDir: "/cache",
        });
      }),
    );
  });

  it("takes what is granted to a server without sandbox along when the session puts it in one", () => {
    const config = {
      mode: "off",
      network: true,
      read: ["/a"],
      write: [],
      hidden: [],
      cacheDir: "/c",
      isProject: false,
      isImposed: false,
      refused: [],
    } as const;
    expect(inSandbox(SPEC, config)).toBe(SPEC);
    expect(sandboxOf(SPEC, config, { least: "workspace" })).toMatchObject({ network: true, read: ["/a"] });
    expect(sandboxOf(SPEC, undefined, { least: "workspace" })).toMatchObject({ mode: "workspace", network: false });
  });

  it("takes nothing from a project into a sandbox that the user or the person wants", () => {
    const own = { network: true, read: ["/a"], write: ["/b"], hidden: [], cacheDir: "/c", refused: [] };
    const project = { mode: "workspace", ...own, isProject: true, isImposed: false } as const;
    expect(sandboxOf(SPEC, project)).toMatchObject({ mode: "workspace", network: true, read: ["/a"] });
    expect(sandboxOf(SPEC, project)).not.toHaveProperty("isConfined");
    const raised = { mode: "read-only", network: false, read: [], write: [], isConfined: true };
    expect(sandboxOf(inSandbox(SPEC, project), project, { least: "read-only" })).toMatchObject(raised);
    expect(sandboxOf(SPEC, { ...project, isImposed: true })).toMatchObject({ isConfined: true });
  });

  it("is not for servers that are not started here", () => {
    const remote = { kind: "http", name: "r", url: "https://x.test", headers: {} } as const;
    expect(inSandbox(remote, undefined, { least: "read-only" })).toBe(remote);
  });
});

it("has words for people", () => {
  expect(sandboxWords({ mode: "workspace", network: true })).toBe("sandbox workspace with network");
});
