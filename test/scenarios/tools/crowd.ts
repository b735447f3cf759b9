// Many tools that could be somebody's: each says what it does, none is another's double.
import type { ToolScript } from "../../../src/testing/index.js";

const VERBS = [
  "create",
  "list",
  "delete",
  "update",
  "archive",
  "export",
  "share",
  "approve",
  "assign",
  "count",
] as const;
const THINGS = [
  "invoice",
  "shipment",
  "passport",
  "recipe",
  "playlist",
  "telescope",
  "vineyard",
  "lighthouse",
  "orchestra",
  "submarine",
  "glacier",
  "beehive",
  "windmill",
  "aquarium",
  "satellite",
  "museum",
  "tractor",
  "parachute",
  "volcano",
  "accordion",
  "chessboard",
  "greenhouse",
  "harbour",
  "ambulance",
  "hammock",
  "pyramid",
  "lantern",
  "monastery",
  "rainforest",
  "typewriter",
] as const;

/** The first `count` of 300 tools; each answers with its own name and the arguments it was given. */
export function crowd(count: number = 300, from = 0): readonly ToolScript[] {
  const all = THINGS.flatMap((thing) => VERBS.map((verb) => crowdTool(verb, thing)));
  return all.slice(from, from + count);
}

function crowdTool(verb: string, thing: string): ToolScript {
  return {
    name: `${verb}_${thing}`,
    description: `${verb[0]?.toUpperCase()}${verb.slice(1)} a ${thing}.`,
    inputSchema: { type: "object", properties: { name: { type: "string" } } },
    reply: { kind: "text", text: `${verb} ${thing}: done` },
  };
}
