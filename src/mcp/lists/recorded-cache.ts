// What is remembered of servers, told to whoever watches: a run that is run again remembers the same.

import { isJsonObject, type JsonValue } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import type { CachedTools, ServerCache } from "../options.js";
import { type McpTool, readTool } from "./tolerate.js";

/** The cache itself, unless somebody watches or a recording is run again. */
export function recordedCache(cache: ServerCache, world: World): ServerCache {
  if (!world.trace && !world.replay) return cache;
  const ask = async <T>(
    what: string,
    fingerprint: string,
    work: () => Promise<T>,
    read: Read<T>,
  ): Promise<T | undefined> =>
    await recorded(world, { ask: `cached ${what}`, about: fingerprint, work, read }).catch(() => undefined);
  const asks = (fingerprint: string) => cache.readAsks?.(fingerprint) ?? Promise.resolve(false);
  return {
    writeEra: (fingerprint, era) => cache.writeEra(fingerprint, era),
    writeTools: (fingerprint, tools) => cache.writeTools(fingerprint, tools),
    writeAsks: async (fingerprint) => await cache.writeAsks?.(fingerprint),
    readEra: (fingerprint) => ask("era", fingerprint, () => cache.readEra(fingerprint), eraOf),
    readTools: (fingerprint) => ask("tools", fingerprint, () => cache.readTools(fingerprint), toolsOf),
    readAsks: async (fingerprint) =>
      (await ask(
        "asks",
        fingerprint,
        () => asks(fingerprint),
        (said) => said === true,
      )) ?? false,
  };
}

type Read<T> = (recorded: JsonValue) => T | undefined;

function eraOf(recorded: JsonValue): "legacy" | "modern" | undefined {
  return recorded === "legacy" || recorded === "modern" ? recorded : undefined;
}

function toolsOf(recorded: JsonValue): CachedTools | undefined {
  if (!isJsonObject(recorded)) return undefined;
  const { serverVersion, tools } = recorded;
  if (typeof serverVersion !== "string" || !Array.isArray(tools)) return undefined;
  const read = tools.flatMap((tool): McpTool[] => {
    const one = readTool(tool);
    return one.ok ? [one.tool] : [];
  });
  return { serverVersion, tools: read };
}
