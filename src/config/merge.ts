// Merges layers, from the weakest to the strongest. Pure. Servers are replaced whole, by name; everything else merges by key.
import type { JsonValue } from "../base/json/json.js";
import type { Layer, LayerServer, LayerValue } from "./layer.js";
import type { Place } from "./place.js";

/** The entries of one name, the strongest last: that one counts, it shadows the others. */
export type ServerStack = readonly [...shadowed: LayerServer[], winner: LayerServer];

/** Merging two merged configurations is merging all their layers: nothing is lost on the way. */
export interface Merged {
  readonly servers: ReadonlyMap<string, ServerStack>;
  /** By path, each with where it was said last. */
  readonly values: ReadonlyMap<string, LayerValue>;
}

const NOTHING: Merged = { servers: new Map(), values: new Map() };

/** In the order given: the last is the strongest. */
export function mergeLayers(layers: readonly Layer[]): Merged {
  return layers.map(mergedOf).reduce(combine, NOTHING);
}

function mergedOf(layer: Layer): Merged {
  const servers = new Map<string, ServerStack>();
  for (const server of layer.servers) servers.set(server.name, [...(servers.get(server.name) ?? []), server]);
  const values = new Map<string, LayerValue>();
  for (const value of layer.values) values.set(keyOf(value.path), value);
  return { servers, values };
}

export function combine(lower: Merged, upper: Merged): Merged {
  const servers = new Map(lower.servers);
  for (const [name, stack] of upper.servers) {
    const below = servers.get(name) ?? [];
    servers.set(name, [...below, ...stack]);
  }
  return { servers, values: new Map([...lower.values, ...upper.values]) };
}

export function winnerOf(stack: ServerStack): LayerServer {
  return stack[stack.length - 1] ?? stack[0];
}

export function shadowedBy(stack: ServerStack): readonly LayerServer[] {
  return stack.slice(0, -1);
}

/** A value with where it came from. */
export interface Sourced<T> {
  readonly value: T;
  readonly place: Place;
}

export function valueOf(merged: Merged, path: readonly string[]): Sourced<JsonValue> | undefined {
  const found = merged.values.get(keyOf(path));
  return found && { value: found.value, place: found.place };
}

function keyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}
