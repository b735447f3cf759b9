// What running calls needs from above: time, approval, the journal, kept results; and what it tells while it runs.
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { ModelMedia } from "../result/blocks.js";
import type { ResultStore } from "../result/store.js";
import type { Inserted } from "../result/substitute.js";
import type { CatalogTool, LastingCall, ToolDefinition, ToolOutcome, ToolProgress } from "../tool.js";
import type { PreparedCall } from "./prepare.js";

export type Approval =
  /** `expected`: what the change was made from that the person was shown. */
  | { readonly kind: "allowed"; readonly expected?: string }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "cancelled" };

/** A call that is about to be made, with the arguments that would really be sent. */
export interface CallRequest {
  readonly toolCallId: string;
  readonly tool: CatalogTool;
  readonly arguments: JsonObject;
  /** Kept results that were put into the arguments. */
  readonly inserted: readonly Inserted[];
}

export interface ApprovalRequest extends CallRequest {
  /** The tool as its source defines it: that is what is approved, whatever a model is shown. */
  readonly raw: ToolDefinition;
  /** The arguments for people: where results were put in, long texts are cut, with their length. */
  readonly shown: JsonObject;
  /** The definition changed since it was approved, and why that matters: a person has to see it. */
  readonly held?: string;
  /** To be called when a person is being asked, and the call waits for the answer. */
  onAsking(): void;
}

/** A call that lasts, with its source's own name of the tool. */
export interface KeptCall extends LastingCall {
  readonly tool: string;
}

/** Written ahead of the call: after a crash an intent without an outcome means "outcome unknown". */
export interface CallJournal {
  intent(call: CallRequest): void;
  /** The call goes on at its source, and can be asked for again: after a crash it is, instead of being unknown. */
  lasting?(call: CallRequest, lasting: KeptCall): void;
}

export interface RunPorts {
  readonly world: World;
  readonly journal: CallJournal;
  /** Where `{"$result": …}` in arguments leads, and where what is too long for the model goes. */
  readonly results: ResultStore;
  /** What the model takes as it is. */
  readonly media: ModelMedia;
  approve(request: ApprovalRequest, signal: AbortSignal): Promise<Approval>;
  /** The user's word that what the tool's server says about it (that it only reads) is true. No server's is, unless given. */
  trustsAnnotations?(tool: CatalogTool): boolean;
  /** A call of the tool went well. */
  onUsed?(tool: CatalogTool): void;
}

/** What happens to a call between its being asked for and its one outcome. */
export type CallEvent = { readonly call: PreparedCall } & (
  | { readonly kind: "awaiting_approval" }
  /** Approved, journaled and about to be sent. */
  | { readonly kind: "running" }
  | { readonly kind: "progress"; readonly progress: ToolProgress; readonly elapsedMs: number }
  /** The last one of a call, with its outcome as people may see it. The time is that since it was sent; 0 if it never was. */
  | { readonly kind: "ended"; readonly outcome: ToolOutcome; readonly elapsedMs: number }
);
