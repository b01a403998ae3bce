const isWorker = process.argv[2] === "worker";
if (isWorker) process.argv.splice(2, 1);
await import(isWorker ? "./worker.ts" : "./demo.ts");
