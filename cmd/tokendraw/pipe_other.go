//go:build !unix

package main

func keepBrokenPipe() {}

func brokenPipe(error) bool { return false }
