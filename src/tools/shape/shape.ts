// The pipeline every tool passes before the catalog: allow and deny, configuration, prefix, then code.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { compileGlob, type GlobMatcher } from "../../base/text/glob.js";
import type { ToolSource } from "../source.js";
import type { ToolDefinition } from "../tool.js";
import { withDefaults, withoutArguments } from "./argument-shape.js";
import type { ShapeSettings, ToolShape, ToolTransformer } from "./settings.js";

export type Shaped =
  | {
      readonly kind: "kept";
      readonly definition: ToolDefinition;
      readonly pinned: JsonObject;
      readonly defaults: JsonObject;
    }
  /** Somebody wanted it so. */
  | { readonly kind: "filtered"; readonly reason: string }
  /** Something is wrong. */
  | { readonly kind: "broken"; readonly reason: string };

export type Shaper = (raw: ToolDefinition) => Shaped;

const NOTHING: JsonObject = {};

export function shaper(
  source: Pick<ToolSource, "name" | "origin">,
  settings: ShapeSettings,
  transformers: readonly ToolTransformer[],
): Shaper {
  const filter = nameFilter(settings);
  const { prefix = "", tools = {} } = settings;
  const shapes = new Map(Object.entries(tools));
  return (raw) => {
    const reason = filter(raw.name);
    if (reason !== undefined) return { kind: "filtered", reason };
    const shape = shapes.get(raw.name);
    const { arguments: pinned = NOTHING, defaults = NOTHING } = shape ?? {};
    const definition = shape || prefix !== "" ? configured(raw, shape ?? {}, prefix) : raw;
    const place = { source: source.name, origin: source.origin, ownName: raw.name };
    try {
      const last = transformers.reduce<ToolDefinition | null>(
        (tool, transformer) => tool && transformer.transform(tool, place),
        definition,
      );
      if (!last) return { kind: "filtered", reason: "a transformer in the program's own code leaves it out" };
      return { kind: "kept", definition: last, pinned, defaults };
    } catch (error) {
      return { kind: "broken", reason: `a transformer in the program's own code failed on it: ${messageOf(error)}` };
    }
  };
}

/** Why a tool of that name is left out by the entry of its server; undefined when it is not. */
export function whyFiltered(settings: ShapeSettings, ownName: string): string | undefined {
  return nameFilter(settings)(ownName);
}

/** Gives the reason for leaving a name out, or nothing. */
function nameFilter({ allow, deny = [] }: ShapeSettings): (name: string) => string | undefined {
  const compiled = (globs: readonly string[]): readonly [string, GlobMatcher][] =>
    globs.map((glob) => [glob, compileGlob(glob)]);
  const denied = compiled(deny);
  const allowed = allow && compiled(allow);
  return (name) => {
    const hit = denied.find(([, matches]) => matches(name));
    if (hit) return `"deny" of its server has ${JSON.stringify(hit[0])}, or "enabled" of it is false`;
    if (allowed && !allowed.some(([, matches]) => matches(name))) {
      return `"allow" of its server has nothing that matches its name: ${JSON.stringify(allow)}`;
    }
    return undefined;
  };
}

function configured(raw: ToolDefinition, shape: ToolShape, prefix: string): ToolDefinition {
  const { arguments: pinned = NOTHING, defaults = NOTHING, providerOptions } = shape;
  return {
    ...raw,
    name: shape.name ?? `${prefix}${raw.name}`,
    description: shape.description ?? raw.description,
    inputSchema: withDefaults(withoutArguments(raw.inputSchema, pinned), defaults),
    ...defined({ providerOptions: providerOptions ? { ...raw.providerOptions, ...providerOptions } : undefined }),
  };
}
