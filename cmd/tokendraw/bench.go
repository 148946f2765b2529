package main

const benchHelp = ""

func runBench(c *context, args []string) error { return nil }
