// The worker file in which one long message is split.
import * as files from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { runSplitter } from "./message-splitter.js";

if (parentPort) runSplitter(parentPort, workerData, files);
