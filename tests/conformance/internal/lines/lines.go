// Package lines writes JSON documents to a file, one per line.
package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
)

// File is being written. Nothing is sure to be there before Close says so.
type File struct {
	file    *os.File
	buffer  *bufio.Writer
	encoder *json.Encoder
}

// Create makes the file, or empties it.
func Create(name string) (*File, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	return &File{file, buffer, encoder}, nil
}

// Write adds a document.
func (f *File) Write(document any) error {
	return f.encoder.Encode(document)
}

// Close writes what is left.
func (f *File) Close() error {
	return errors.Join(f.buffer.Flush(), f.file.Close())
}
